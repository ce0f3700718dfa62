# SPDX-License-Identifier: Apache-2.0
"""`dot_product_attention` compared with its formula in NumPy, and its program."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir.lax import dot_general_p
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.olympuspr import olympusprs_in_params
from olympus_ir.settings.config_states import enable_x64
from olympus_nn import dot_product_attention
from olympus_numpy import sum as total

RNG = np.random.default_rng(0)


def operands(heads=4, groups=2, dtype=np.float64):
    shapes = ((2, 7, heads, 5), (2, 9, groups, 5), (2, 9, groups, 5))
    return [RNG.normal(size=shape).astype(dtype) for shape in shapes]


def formula(query, key, value, scale):
    repeats = query.shape[2] // key.shape[2]
    key, value = (np.repeat(each, repeats, 2) for each in (key, value))
    weights = np.exp(np.einsum("btnh,bsnh->bnts", query, key) * scale)
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bnts,bsnh->btnh", weights, value)


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(np.float64, 1e-12), (np.float32, 1e-5), (np.float16, 1e-2), (ml_dtypes.bfloat16, 5e-2)],
)
def test_values_equal_the_formula(groups, dtype, tolerance):
    with enable_x64(True):
        given = operands(groups=groups, dtype=dtype)
        result = jit(lambda *xs: dot_product_attention(*xs, scale=0.3))(*given)
    assert result.dtype == dtype
    wide = [each.astype(np.float64) for each in given]
    np.testing.assert_allclose(
        np.asarray(result, np.float64), formula(*wide, 0.3), tolerance, tolerance
    )


def test_gradients_are_differences_of_values():
    with enable_x64(True):
        given = operands()
        weights = RNG.normal(size=given[0].shape)
        gradients = jit(
            grad(
                lambda *xs: total(dot_product_attention(*xs, scale=0.3) * weights),
                argnums=(0, 1, 2),
            )
        )(*given)
    for place, gradient in enumerate(gradients):
        step = 1e-6 * RNG.normal(size=gradient.shape)
        ahead, behind = (
            formula(*given[:place], given[place] + change, *given[place + 1 :], 0.3)
            for change in (step, -step)
        )
        difference = ((ahead - behind) * weights).sum() / 2
        np.testing.assert_allclose((gradient * step).sum(), difference, 1e-6)


def test_batches_equal_the_formula():
    given = [np.stack([each, -each]) for each in operands(dtype=np.float32)]
    result = vmap(dot_product_attention)(*given)
    for place, example in enumerate(zip(*given, strict=True)):
        np.testing.assert_allclose(result[place], formula(*example, 5**-0.5), rtol=1e-5, atol=1e-5)


def products_in(program):
    for equation in program.eqns:
        if equation.primitive is dot_general_p:
            yield equation
        for inner in olympusprs_in_params(equation.params):
            yield from products_in(getattr(inner, "jaxpr", inner))


def test_weights_are_first_operand_and_queries_are_scaled():
    program = make_olympuspr(dot_product_attention)(*operands(dtype=np.float32))
    first, second = products_in(program.jaxpr)
    assert first.outvars[0].aval.size == second.invars[0].aval.size == 2 * 4 * 7 * 9
    multiplied = [each for each in program.jaxpr.eqns if each.primitive.name == "mul"]
    assert all(each.outvars[0].aval.size <= 2 * 7 * 4 * 5 for each in multiplied)


def test_scales_that_are_traced_or_have_dimensions():
    x = np.sin(np.arange(24.0, dtype=np.float32)).reshape(1, 4, 2, 3)
    scale = np.arange(1.0, 5.0, dtype=np.float32)  # one for each key
    weights = np.exp(np.einsum("btnh,bsnh->bnts", x, x) * scale)
    weights /= weights.sum(-1, keepdims=True)
    found = jit(lambda scale: dot_product_attention(x, x, x, scale=scale))(scale)
    np.testing.assert_allclose(
        found, np.einsum("bnts,bsnh->btnh", weights, x), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("kind", [TypeError, ValueError])
def test_bias_that_does_not_broadcast_raises(kind):
    query, key, value = operands()
    with pytest.raises(kind, match="bias should broadcast to shape"):
        dot_product_attention(query, key, value, bias=np.ones((1, 1, 99, 1)))
