# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from olympus_batching import vmap
from olympus_ir import ShapedArray, lax, trace_to_olympuspr

X = np.linspace(0.1, 0.9, 6, dtype=np.float32).reshape(2, 3)


def test_batches_of_unary_operations_equal_a_loop(check):
    check(lax.sin, X)
    check(lambda x: lax.integer_pow(x, 3), X)
    check(lambda x: lax.convert_element_type(x, np.int32), X * 10)


@pytest.mark.parametrize("operation", [lax.add, lax.mul, lax.atan2, lax.lt, lax.max, lax.pow])
def test_batches_of_binary_operations_equal_a_loop(check, operation):
    check(operation, X, X[::-1])


def test_scalars_among_full_shapes(check):
    check(lax.mul, X, np.float32(0.5))
    check(lax.sub, np.float32(0.5), X)
    check(lambda x: lax.add(x, np.float32(2)), X)
    check(lambda s: lax.add(X, s), np.float32(0.5))


def test_scalars_need_no_broadcasting(check):
    check(lax.div, np.float32(0.5), np.float32(0.25))


def test_dimensions_of_size_one(check):
    check(lax.mul, X, X[:1])
    check(lax.mul, X[:, :1], X[:1])


def test_unbatched_scalars_are_not_broadcast():
    seen = []
    with_scalar = vmap(lambda x: lax.mul(x, np.float32(2)))
    program, _ = trace_to_olympuspr(lambda x: [with_scalar(x)], [ShapedArray((4, 3), np.float32)])
    seen = [equation.primitive.name for equation in program.eqns]
    assert seen == ["mul"]


def test_conditions_and_cases_may_be_batched(check):
    true = np.array([[True, False, True], [False, False, True]])
    check(lax.select_n, true, X, -X)
    check(lax.select_n, [np.bool_(True), np.bool_(False), np.bool_(True)], X, -X)
    check(lax.select_n, [np.bool_(True), np.bool_(False), np.bool_(True)], X[0, 0], -X[0, 0])
    which = [np.int32(2), np.int32(0), np.int32(1)]
    check(lax.select_n, which, X, -X, X + 1)


def test_bounds_of_clamp_may_be_batched(check):
    check(lax.clamp, np.float32(0.2), X, np.float32(0.7))
    check(lax.clamp, X - 0.1, X[::-1], np.float32(0.7))
    check(lax.clamp, np.float32(0.2), np.float32(0.1), np.float32(0.7))


def test_bitcast_between_widths(check):
    numbers = np.arange(8, dtype=np.uint8).reshape(2, 4)
    check(lambda x: lax.bitcast_convert_type(x, np.uint32), numbers)
    check(lambda x: lax.bitcast_convert_type(x, np.uint8), numbers.astype(np.uint32))
    check(lambda x: lax.bitcast_convert_type(x, np.int8), numbers)


def test_parts_of_complex_numbers_are_batched(check):
    check(lax.complex, X, X[::-1])
    check(lambda x: lax.real(lax.conj(lax.complex(x, x))), X)
