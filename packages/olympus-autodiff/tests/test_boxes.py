# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_autodiff.high_types.boxes import Box, BoxTy, box_get, box_set, new_box
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_ir.types.avals import get_aval


def test_boxes_hold_pytrees_of_any_structure():
    box = Box(1.0)
    assert box.get() == 1.0
    box.set({"a": np.arange(3)})
    np.testing.assert_array_equal(box.get()["a"], np.arange(3))
    assert new_box().get() is None
    assert get_aval(box) == BoxTy() == box.ty


def test_compiled_functions_read_and_write_boxes():
    received, closed_over = Box(np.float32(1)), Box(np.float32(0))

    @jit
    def function(box, x):
        made = Box(x)
        made.set(lax.mul(made.get(), np.float32(2)))
        closed_over.set(lax.add(box_get(closed_over), made.get()))
        box_set(box, (made.get(), x))
        return box.get()[0]

    assert function(received, np.float32(3)) == 6
    assert received.get() == (6, 3)
    assert function(received, np.float32(4)) == 8
    assert closed_over.get() == 6 + 8


@pytest.mark.parametrize("compiled", [False, True])
def test_loops_and_branches_write_to_boxes(compiled):
    def function(x):
        box = Box(x)

        def body(carry, _):
            box.set(lax.add(box.get(), carry))
            return lax.mul(carry, np.float32(2)), None

        lax.scan(body, x, None, length=3)
        lax.cond(lax.gt(x, np.float32(0)), lambda: box.set(lax.neg(box.get())), lambda: None)
        return box.get()

    function = jit(function) if compiled else function
    assert function(np.float32(1)) == -(1 + 1 + 2 + 4)


@pytest.mark.parametrize("wrap", [lambda f: f, jit])
def test_boxes_do_not_keep_values_of_transformations(wrap):
    box = Box(np.float32(0))

    def function(x):
        box.set(lax.sin(x))
        return lax.mul(x, x)

    with pytest.raises(TypeError, match=r"can't differentiate Box\.set operation"):
        grad(wrap(function))(np.float32(3))
    with pytest.raises(NotImplementedError, match="Batching rule for 'box_set'"):
        vmap(wrap(function))(np.arange(3, dtype=np.float32))
    assert box.get() == 0


def test_boxes_keep_constants_of_gradients():
    box = Box(np.float32(0))

    def function(x):
        box.set(lax.stop_gradient(lax.sin(x)))
        return lax.mul(x, x)

    assert grad(function)(np.float32(3)) == 6
    np.testing.assert_allclose(box.get(), np.sin(3), rtol=1e-6)
