# SPDX-License-Identifier: Apache-2.0
"""Python numbers and NumPy arrays that pass through transformations unchanged.

The expected classes are those of jax 0.10.2. There, arrays of NumPy with a dtype are instances of a
subclass of `numpy.ndarray`.
"""

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.experimental import checkify, io_callback

ONES = np.ones(2, "float32")


def identity(*args):
    return args


def classes(tree):
    return [type(leaf).__name__ for leaf in olympus.tree.leaves(tree)]


def clipped():
    function = olympus.custom_vjp(lambda x: x)
    seen = []
    function.defvjp(lambda x: (x, (x, 3, np.float32(4), True)), lambda r, g: seen.append(r) or (g,))
    olympus.grad(function)(1.0)
    return seen


CALLS = {
    "jvp": (lambda: olympus.jvp(identity, (1.0,), (2.0,)), "float float"),
    "jvp of arrays": (lambda: olympus.jvp(identity, (ONES,), (ONES,)), "ndarray ndarray"),
    "jvp of a sum": (lambda: olympus.jvp(lambda x: x + 0, (1.0,), (3.0,)), "Array Array"),
    "jvp of a constant": (lambda: olympus.jvp(lambda x: 3.0, (1.0,), (3.0,)), "float Array"),
    "linearize": (lambda: olympus.linearize(identity, 1.0, 2)[0], "float int"),
    "linear map": (lambda: olympus.linearize(identity, 1.0)[1](2.0), "float"),
    "vjp": (lambda: olympus.vjp(identity, 1.0, 2, np.float32(1))[0], "TypedFloat TypedInt ndarray"),
    "vjp function": (lambda: olympus.vjp(lambda x: x, 1.0)[1](2.0), "float"),
    "linear_transpose": (lambda: olympus.linear_transpose(lambda x: x, 1.0)(2.0), "float"),
    "grad": (lambda: olympus.grad(lambda x: x)(1.0), "Array"),
    "checkpoint": (
        lambda: olympus.checkpoint(lambda x, y: (x, y, x + 1, 2, True))(1.0, ONES),
        "TypedFloat ndarray Array TypedInt bool",
    ),
    "scan": (
        lambda: lax.scan(lambda c, x: (c, x), (1, 2.0, ONES), ONES),
        "int float ndarray Array",
    ),
    "changing carry": (lambda: lax.scan(lambda c, x: (c + 1, c), 1, ONES), "Array Array"),
    "fori_loop": (lambda: lax.fori_loop(0, 3, lambda i, c: c, (1, np.float32(2))), "int float32"),
    "while_loop": (
        lambda: lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1]), (1, 2.0)),
        "Array float",
    ),
    "cond": (lambda: lax.cond(True, lambda x: x, lambda x: x, 1.0), "Array"),
    "custom_linear_solve": (
        lambda: lax.custom_linear_solve(lambda x: x, (2.0, ONES), lambda matvec, b: b),
        "TypedFloat ndarray",
    ),
    "custom_root": (
        lambda: lax.custom_root(lambda x: x - 1.0, 0.0, lambda f, x: 1.0, lambda g, y: y),
        "TypedFloat",
    ),
    "residuals": (clipped, "TypedFloat TypedInt ndarray bool"),
    "closure_convert": (
        lambda: olympus.closure_convert(lambda x: (x, 1, np.float32(2)), 1.0)[0](3.0),
        "float TypedInt ndarray",
    ),
    "checkify": (
        lambda: checkify.checkify(lambda x: (x, 1, 2.0, True, ONES))(1)[1],
        "TypedInt TypedInt TypedFloat bool ndarray",
    ),
    "stop_gradient": (
        lambda: lax.stop_gradient((1, np.float32(2), ONES, True, 1j)),
        "TypedInt ndarray ndarray bool TypedComplex",
    ),
    "checkpoint_name": (
        lambda: olympus.ad_checkpoint.checkpoint_name((1, ONES, True), "a"),
        "TypedInt ndarray bool",
    ),
    "vmap": (lambda: olympus.vmap(lambda x: (1, ONES), out_axes=None)(ONES), "int ndarray"),
    "jit": (lambda: olympus.jit(identity)(1, 2.0), "Array Array"),
}


@pytest.mark.parametrize("name", CALLS)
def test_result_classes_match_jax(name):
    call, expected = CALLS[name]
    found = [name.removesuffix("Impl") for name in classes(call())]
    assert found == expected.split()


def test_unchanged_carries_are_returned_as_same_objects():
    wide = np.arange(2.0)
    assert lax.scan(lambda c, x: (c, x), wide, ONES)[0] is wide
    assert lax.fori_loop(0, 3, lambda i, c: c, wide) is wide


@pytest.mark.parametrize("callback", [olympus.pure_callback, io_callback])
def test_callbacks_with_results_take_strongly_typed_arrays(callback):
    weak = []
    callback(
        lambda *values: weak.extend(value.weak_type for value in values) or np.float32(1),
        olympus.ShapeDtypeStruct((), jnp.float32),
        1.0,
        2,
        jnp.asarray(3.0),
    )
    assert weak == [False] * 3
