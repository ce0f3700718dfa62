# SPDX-License-Identifier: Apache-2.0
"""Reference rules of products of arrays."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from olympus_ir import lax, make_olympuspr


@pytest.mark.parametrize(
    ("lhs_shape", "rhs_shape", "numbers", "subscripts"),
    [
        ((2, 3), (3, 4), (((1,), (0,)), ((), ())), "ab,bc->ac"),
        ((5, 2, 3), (3, 5, 4), (((2,), (0,)), ((0,), (1,))), "abc,cad->abd"),
        ((2, 3, 4), (4, 3), (((1, 2), (1, 0)), ((), ())), "abc,cb->a"),
        ((2, 3), (4,), (((), ()), ((), ())), "ab,c->abc"),
    ],
)
def test_dot_general_is_an_einstein_sum(lhs_shape, rhs_shape, numbers, subscripts):
    generator = np.random.default_rng(0)
    lhs = generator.standard_normal(lhs_shape).astype(np.float32)
    rhs = generator.standard_normal(rhs_shape).astype(np.float32)
    np.testing.assert_allclose(
        np.asarray(lax.dot_general(lhs, rhs, numbers)),
        np.einsum(subscripts, lhs, rhs),
        rtol=1e-5,
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("lhs", "rhs", "expected"),
    [
        (np.float32, np.float32, np.float32),
        (np.float16, np.float32, np.float32),
        (np.float16, ml_dtypes.bfloat16, ml_dtypes.bfloat16),
        (np.int8, np.int32, np.int32),
        (np.int8, np.uint8, np.int8),
        (np.uint8, np.int32, np.int32),
        (np.int32, np.float16, np.float16),
        (np.bool_, np.int8, np.int8),
        (np.float32, np.complex64, np.complex64),
        (np.bool_, np.bool_, np.bool_),
    ],
)
def test_dtype_of_products(lhs, rhs, expected):
    assert lax.dot(np.ones(3, lhs), np.ones(3, rhs)).dtype == expected
    assert lax.dot(np.ones(3, rhs), np.ones(3, lhs)).dtype == expected


def test_integer_sums_wrap_around():
    x = np.full(3, 100, np.int8)
    assert int(lax.dot(x, x)) == np.int64(30000).astype(np.int8)
    assert int(lax.dot(x, x, preferred_element_type=np.int32)) == 30000


def test_sums_of_short_floats_are_rounded_once():
    x = np.ones(3008, ml_dtypes.bfloat16)
    assert float(lax.dot(x, x)) == 3008


@pytest.mark.parametrize(
    ("dtype", "preferred", "accepted"),
    [
        (np.int32, np.int8, False),
        (np.int32, np.float16, False),
        (np.int8, np.bool_, False),
        (np.int8, np.float16, True),
        (np.complex64, np.float16, False),
        (np.complex64, np.float32, True),
        (np.float32, np.float16, True),
        (np.float32, np.int8, True),
    ],
)
def test_precision_of_exact_sums(dtype, preferred, accepted):
    def product(x):
        return lax.dot(x, x, preferred_element_type=preferred)

    x = np.ones(3, dtype)
    if accepted:
        assert make_olympuspr(product)(x).out_avals[0].dtype == preferred
    else:
        with pytest.raises(TypeError, match="must not be narrower than the original type"):
            make_olympuspr(product)(x)
