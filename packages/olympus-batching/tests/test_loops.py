# SPDX-License-Identifier: Apache-2.0
"""Loops with a batched trip count, and closures of functions with custom rules."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.lax.control_flow.predicates import with_scalar_condition
from olympus_ir.programs.checker import check_olympuspr
from olympus_ir.programs.evaluation import olympuspr_as_fun
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr

COUNTS = np.array([0, 2, 3, 1], np.int32)
FACTORS = np.array([2.0, 3.0, 4.0, 5.0], np.float32)


def power(count, factor):
    """``factor ** count``, and the number of steps."""
    return lax.while_loop(
        lambda carry: lax.lt(carry[0], count),
        lambda carry: (lax.add(carry[0], np.int32(1)), lax.mul(carry[1], factor)),
        (np.int32(0), np.float32(1.0)),
    )


class TestConditionForEachExample:
    @pytest.mark.parametrize("compiled", [False, True])
    def test_examples_stop_on_their_own(self, compiled):
        mapped = vmap(power)
        steps, result = (jit(mapped) if compiled else mapped)(COUNTS, FACTORS)
        np.testing.assert_array_equal(steps, COUNTS)
        np.testing.assert_array_equal(result, FACTORS**COUNTS)

    @pytest.mark.parametrize("outer", [(0, None), (None, 0)])
    def test_examples_stop_along_two_axes(self, outer):
        mapped = vmap(vmap(power, in_axes=outer[::-1]), in_axes=outer)
        _, result = jit(mapped)(COUNTS, FACTORS)
        expected = FACTORS[None, :] ** COUNTS[:, None]
        np.testing.assert_array_equal(result, expected if outer == (0, None) else expected.T)

    def test_outer_vmap_batches_only_factors(self):
        inner = vmap(power, in_axes=(0, None))
        _, result = vmap(lambda factor: inner(COUNTS, factor))(FACTORS)
        np.testing.assert_array_equal(result, FACTORS[:, None] ** COUNTS)

    def test_values_of_more_dimensions(self):
        def grow(limit, row):
            return lax.while_loop(
                lambda row: lax.lt(lax.reduce_sum(row, (0,)), limit),
                lambda row: lax.mul(row, 2.0),
                row,
            )

        rows = np.ones((3, 2), np.float32)
        result = vmap(grow)(np.array([1.0, 5.0, 9.0], np.float32), rows)
        np.testing.assert_array_equal(result[:, 0], [1, 4, 8])

    def test_text_and_types(self):
        program = make_olympuspr(vmap(power))(COUNTS, FACTORS)
        check_olympuspr(program)
        (loop,) = [eqn for eqn in program.eqns if eqn.primitive is lax.while_p]
        assert str(loop.params["cond_jaxpr"]) == (
            "{ lambda ; a:i32[4] b:i32[4] c:f32[4]. let d:bool[4] = lt b a in (d,) }"
        )
        assert (loop.params["cond_nconsts"], loop.params["body_nconsts"]) == (1, 1)

    def test_batched_conditions_become_scalars(self):
        program = make_olympuspr(vmap(power))(COUNTS, FACTORS)
        (loop,) = [eqn for eqn in program.eqns if eqn.primitive is lax.while_p]
        start = [np.zeros(4, np.int32), np.ones(4, np.float32)]
        operands, params = with_scalar_condition([COUNTS, FACTORS, *start], loop.params)
        check_olympuspr(params["cond_jaxpr"])
        check_olympuspr(params["body_jaxpr"])
        assert params["cond_jaxpr"].out_avals[0].shape == ()
        again = with_scalar_condition(operands, params)
        assert again[0] is operands and again[1] is params
        (goes_on,) = olympuspr_as_fun(params["cond_jaxpr"])(COUNTS, *start)
        assert bool(goes_on)
        _, result = lax.while_p.bind(*operands, **params)
        np.testing.assert_array_equal(result, FACTORS**COUNTS)


def test_map_without_batches():
    result = lax.map(lax.sin, FACTORS, batch_size=0)
    np.testing.assert_allclose(result, np.sin(FACTORS), rtol=1e-6)


def test_map_over_empty_array_with_batch_size():
    assert lax.map(lax.sin, FACTORS[:0], batch_size=2).shape == (0,)


@pytest.mark.parametrize(
    ("xs", "batch_size", "message"),
    [
        ((np.ones(3), np.ones(4)), 2, "different leading axis sizes: 3, 4"),
        ((np.ones(4), np.ones(3)), 5, "different leading axis sizes: 4, 3"),
        (1.0, 2, "no leading axis to scan over"),
        (np.ones(3), -2, "batch_size=-2, which is negative"),
    ],
)
def test_map_refuses_values_that_do_not_fit_batches(xs, batch_size, message):
    with pytest.raises(ValueError, match=message):
        lax.map(lambda x: x, xs, batch_size=batch_size)
