# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import linear_transpose, transpose_olympuspr
from olympus_ir import ShapedArray, lax
from olympus_ir.programs.jit import jit
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.types import dtypes

F32 = ShapedArray((), np.float32)


def test_linear_functions_are_transposed():
    transposed = linear_transpose(lambda x, y: lax.sub(lax.mul(x, 2.0), y), 1.0, 1.0)
    assert transposed(3.0) == (6.0, -3.0)


def test_only_types_of_arguments_are_used():
    shape = ShapedArray((2, 3), np.float32)
    transposed = linear_transpose(lambda x: lax.reduce_sum(x, (0, 1)), _Typed(shape))
    np.testing.assert_array_equal(transposed(np.float32(2))[0], np.full((2, 3), 2))


class _Typed:
    def __init__(self, aval):
        self.shape, self.dtype = aval.shape, aval.dtype


@pytest.mark.parametrize("dtype", ["int2", "uint4", "int8"])
def test_functions_of_integers_of_few_bits_are_transposed(dtype):
    kind = dtypes.dtype(dtype)
    row = np.array([1, 0, 1], kind)
    transposed = linear_transpose(lambda x: lax.mul(x, row), _Typed(ShapedArray((3,), kind)))
    (found,) = transposed(np.array([1, 1, 0], kind))
    assert found.dtype == kind
    np.testing.assert_array_equal(found.astype(np.int32), [1, 0, 0])


def test_coefficients_are_computed_first():
    w = np.float32(0.5)
    transposed = linear_transpose(lambda x: lax.mul(lax.mul(x, lax.sin(w)), lax.exp(w)), 1.0)
    np.testing.assert_allclose(transposed(1.0)[0], np.sin(w) * np.exp(w), rtol=1e-6)


def test_pytrees_are_transposed_leaf_by_leaf():
    transposed = linear_transpose(lambda d: (lax.add(d["a"], d["b"]), d["a"]), {"a": 1.0, "b": 1.0})
    assert transposed((1.0, 10.0)) == ({"a": 11.0, "b": 1.0},)


def test_unused_arguments_have_zero_cotangents():
    assert linear_transpose(lambda x, y: x, 1.0, 1.0)(2.0) == (2.0, 0.0)


def test_affine_functions_are_transposed_without_offset():
    assert linear_transpose(lambda x: lax.add(x, 1.0), 1.0)(3.0) == (3.0,)


def test_calls_and_control_flow():
    def f(x):
        y = jit(lambda x: lax.mul(x, 2.0))(x)
        y = lax.cond(True, lambda y: lax.mul(y, 3.0), lambda y: y, y)
        return lax.scan(lambda c, w: (lax.mul(c, w), c), y, np.array([1.0, 2.0], np.float32))

    transposed = linear_transpose(f, 1.0)
    # carry: 2 * 3 * 1 * 2; results: 6 and 6
    assert transposed((1.0, np.array([1.0, 1.0], np.float32)))[0] == 12.0 + 12.0


@pytest.mark.parametrize(
    "fun, primals, error, message",
    [
        (lambda x: x, (True,), TypeError, r"but got \[dtype\(.bool.\)\]"),
        (
            lambda x: lax.convert_element_type(x, np.int32),
            (1.0,),
            TypeError,
            r"-> \[dtype\(.int32.\)\]",
        ),
    ],
)
def test_invalid_functions_raise(fun, primals, error, message):
    with pytest.raises(error, match=message):
        linear_transpose(fun, *primals)


@pytest.mark.parametrize(
    "fun, cotangent, error, message",
    [
        (
            lax.sin,
            1.0,
            NotImplementedError,
            "for 'sin' not implemented, because it is not linear",
        ),
        (lambda x: lax.mul(x, x), 1.0, ValueError, "product of two linear values"),
        (lambda x: lax.div(1.0, x), 1.0, ValueError, "not linear"),
        (lambda x: x, np.ones(3, np.float32), TypeError, "expected float32.* but got float32.3."),
        (lambda x: x, (1.0,), TypeError, "cotangent tree does not match"),
    ],
)
def test_errors_of_the_transpose(fun, cotangent, error, message):
    transposed = linear_transpose(fun, 1.0)
    with pytest.raises(error, match=message):
        transposed(cotangent)


def test_transposed_programs_recompute_known_values():
    closed = trace_to_closed(
        lambda w, x: [lax.mul(lax.sin(w), x), lax.cos(w), lax.neg(x)], [F32, F32]
    )
    transposed, nonzero = transpose_olympuspr(closed, (False, True), (True, False, False))
    assert nonzero == (True,)
    assert str(transposed) == (
        "{ lambda ; a:f32[] b:f32[]. let c:f32[] = sin a; d:f32[] = mul c b in (d,) }"
    )
    again, _ = transpose_olympuspr(closed, (False, True), (True, False, False))
    assert again is transposed
    nothing, nonzero = transpose_olympuspr(closed, (False, True), (False, True, False))
    assert nonzero == (False,)
    assert nothing.eqns == []


def test_linear_functions_of_integers():
    transposed = linear_transpose(
        lambda x: lax.mul(lax.rev(x, (0,)), 3), np.arange(3, dtype=np.int32)
    )
    (result,) = transposed(np.array([1, 2, 4], np.int32))
    np.testing.assert_array_equal(result, [12, 6, 3])
    assert result.dtype == np.int32
    with pytest.raises(TypeError, match="integer -> integer functions"):
        linear_transpose(lambda x: lax.convert_element_type(x, np.float32), np.arange(3))


def test_transposes_pass_through_compiled_functions():
    def transposed(x):
        return linear_transpose(lambda y: lax.mul(y, lax.sin(x)), 1.0)

    apply = jit(lambda function, cotangent: function(cotangent))
    (result,) = apply(jit(transposed)(2.0), 3.0)
    np.testing.assert_allclose(result, 3 * np.sin(np.float32(2)), rtol=1e-6)
