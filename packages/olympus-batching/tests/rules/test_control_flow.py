# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from olympus_batching import vmap
from olympus_ir import ShapedArray, lax, trace_to_olympuspr

X = np.arange(1, 5, dtype=np.float32)


def names_of(fun, *shapes):
    avals = [ShapedArray(shape, np.float32) for shape in shapes]
    program, _ = trace_to_olympuspr(lambda *args: [fun(*args)], avals)
    return [equation.primitive.name for equation in program.eqns]


# ---- cond ----


def branch(p, x, y):
    return lax.cond(p, lambda x, y: lax.sin(x), lambda x, y: lax.mul(x, y), x, y)


def test_cond_and_its_predicate(check):
    check(branch, [np.bool_(True), np.bool_(False), np.bool_(True)], X, np.float32(3))


def test_cond_with_unbatched_predicate_is_a_cond():
    names = names_of(vmap(lambda x: lax.cond(np.bool_(True), lax.sin, lax.cos, x)), (3,))
    assert names == ["cond"]


def test_cond_results_batched_in_one_branch(check):
    def fun(p, x):
        return lax.cond(p, lambda x: (x, np.float32(1)), lambda x: (np.float32(2), x), x)

    check(fun, np.bool_(True), np.float32(3), places=[(None, 0)])


def test_each_example_selects_its_branch(check):
    def fun(index, x):
        return lax.switch(index, [lax.sin, lax.cos, lax.exp], x)

    check(fun, [np.int32(2), np.int32(0), np.int32(1)], X)


# ---- while ----


def doubled_until(bound, x):
    return lax.while_loop(
        lambda x: lax.lt(lax.reduce_max(x, (0,)), bound), lambda x: lax.mul(x, np.float32(2)), x
    )


def test_while_and_its_condition(check):
    check(doubled_until, [np.float32(10), np.float32(99), np.float32(1)], X)


def test_while_with_unbatched_condition(check):
    def fun(x, scale):
        return lax.fori_loop(0, 3, lambda i, x: lax.mul(x, scale), x)

    check(fun, X, np.float32(2))
    names = names_of(vmap(fun, in_axes=(0, None)), (3, 2), ())
    assert len(names) == 1


def test_while_carry_batching_reaches_a_fixed_point(check):
    def fun(x):
        def body(carry):
            i, _, b, c = carry
            return lax.add(i, np.int32(1)), b, c, x

        zero = np.float32(0)
        return lax.while_loop(
            lambda carry: lax.lt(carry[0], np.int32(5)), body, (np.int32(0), zero, zero, zero)
        )

    check(fun, np.float32(3))


# ---- scan ----


def test_batches_of_scans_equal_a_loop(check):
    def fun(start, xs, scale):
        def step(carry, x):
            carry = lax.add(lax.mul(carry, scale), x)
            return carry, lax.sin(carry)

        return lax.scan(step, start, xs)

    check(fun, np.float32(1), X, np.float32(0.5))


def test_scan_in_reverse(check):
    check(lambda xs: lax.scan(lambda c, x: (lax.add(c, x), c), np.float32(0), xs, reverse=True), X)


def test_scan_carry_becomes_batched(check):
    def fun(x, xs):
        return lax.scan(lambda c, y: ((c[1], x), y), (np.float32(0), np.float32(0)), xs)

    check(fun, np.float32(3), X)


def test_map_and_associative_scan(check):
    check(lambda xs: lax.map(lax.sin, xs), X)
    check(lambda xs: lax.associative_scan(lax.add, xs), X)


@pytest.mark.parametrize("places", [((0,),), ((1,),)])
def test_nested_control_flow(check, places):
    def fun(xs):
        def step(carry, x):
            carry = lax.cond(lax.gt(x, np.float32(2)), lax.neg, lambda c: lax.add(c, x), carry)
            return carry, lax.fori_loop(0, 2, lambda i, y: lax.mul(y, carry), x)

        return lax.scan(step, np.float32(1), xs)

    check(fun, X, places=places)
