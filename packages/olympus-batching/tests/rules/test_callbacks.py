# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from olympus_batching import vmap
from olympus_ir import ShapedArray, lax

X = np.arange(3, dtype=np.float32)
SCALAR = ShapedArray((), np.float32)


def test_debug_print_prints_example_by_example(capsys):
    vmap(lambda x, y: lax.debug_print("x={} y={y}", x, y=y), in_axes=(0, None))(X, 2.0)
    lax.effects_barrier()
    assert capsys.readouterr().out == "x=0.0 y=2.0\nx=1.0 y=2.0\nx=2.0 y=2.0\n"


def test_debug_callbacks_run_for_each_example():
    seen = []
    vmap(lambda x: lax.debug_callback(lambda x: seen.append(float(x)), x, ordered=True))(X)
    lax.effects_barrier()
    assert seen == [0.0, 1.0, 2.0]


SHAPES = {
    "sequential": [((), ())] * 3,
    "sequential_unrolled": [((), ())] * 3,
    "expand_dims": [((3,), (1,))],
    "broadcast_all": [((3,), (3,))],
    "legacy_vectorized": [((3,), ())],
}


@pytest.mark.parametrize("method", SHAPES)
def test_pure_callbacks_follow_the_vmap_method(method):
    calls = []

    def host(x, y):
        calls.append((np.shape(x), np.shape(y)))
        return np.asarray(x) + np.asarray(y)

    def fun(x, y):
        return lax.pure_callback(host, SCALAR, x, y, vmap_method=method)

    np.testing.assert_array_equal(vmap(fun, in_axes=(0, None))(X, np.float32(2)), X + 2)
    assert calls == SHAPES[method]


def test_pure_callback_without_method():
    with pytest.raises(
        NotImplementedError, match=r"when vmap_method is one of .*Got vmap_method=None"
    ):
        vmap(lambda x: lax.pure_callback(np.sin, SCALAR, x))(X)


def test_io_callbacks_run_for_each_example():
    seen = []

    def host(x):
        seen.append(float(x))
        return x

    np.testing.assert_array_equal(vmap(lambda x: lax.io_callback(host, SCALAR, x))(X), X)
    assert sorted(seen) == [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="Cannot `vmap` ordered IO callback"):
        vmap(lambda x: lax.io_callback(host, SCALAR, x, ordered=True))(X)
