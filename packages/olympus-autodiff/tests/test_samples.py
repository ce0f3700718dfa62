# SPDX-License-Identifier: Apache-2.0
"""The sample of each primitive: its derivatives agree with finite differences, to second order."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import jvp, jvp_rules, linearize, vjp
from olympus_ir import lax
from olympus_ir.lax import linalg
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.avals import get_aval
from olympus_testing import assert_close, cases, check_grads
from olympus_testing.samples.declarations import BOTH_MODES

CASES = [case for case in cases() if case.differentiable]


def function_of_differentiable(case):
    """The case as a function of the operands that it is differentiated by, and their values."""
    args = case.args

    def fun(*chosen):
        operands = list(args)
        for place, value in zip(case.differentiable, chosen, strict=True):
            operands[place] = value
        return case.run(*operands)

    return fun, [args[place] for place in case.differentiable]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_derivatives_of_samples_equal_finite_differences(case):
    with case.context():
        fun, primals = function_of_differentiable(case)
        check_grads(
            fun,
            primals,
            order=case.order,
            jvp=jvp if "forward" in case.modes else None,
            vjp=vjp if "reverse" in case.modes else None,
        )


@pytest.mark.parametrize("case", [case for case in CASES if case.modes == BOTH_MODES], ids=str)
def test_linearization_is_jvp(case):
    with case.context():
        fun, primals = function_of_differentiable(case)
        generator = np.random.default_rng(0)
        tangents = [
            generator.standard_normal(np.shape(x)).astype(np.asarray(x).dtype) for x in primals
        ]
        results, pushed = jvp(fun, tuple(primals), tuple(tangents))
        linear_results, derivative = linearize(fun, *primals)
        assert_close(linear_results, results)
        assert_close(derivative(*tangents), pushed)


def has_tangents(value):
    return get_aval(value).to_tangent_aval().dtype != dtypes.float0


_SMOOTH_IN_LAST_ONLY = (lax.polygamma_p, lax.regularized_incomplete_beta_p)


def refusal(case):
    """The error of a case that has no forward derivative, and its message."""
    if case.primitive is lax.pure_callback_p:
        return ValueError, "Pure callbacks do not support JVP"
    if "forward" not in case.modes:
        return TypeError, "can't apply forward-mode autodiff"
    if case.primitive in _SMOOTH_IN_LAST_ONLY:
        return ValueError, "cannot be differentiated with respect to"
    if case.primitive is linalg.svd_p:
        rows, columns = case.args[0].shape[-2:]
        if rows != columns and case.params["full_matrices"] and case.params.get("compute_uv", True):
            return NotImplementedError, "full_matrices"
    # Traces differentiate what brings a rule of its own.
    if case.primitive in jvp_rules.exemptions and case.primitive.bind_equation is None:
        return NotImplementedError, case.primitive.name
    return None, ""


INEXACT_CASES = [case for case in cases() if any(map(has_tangents, case.args))]


@pytest.mark.parametrize("case", INEXACT_CASES, ids=str)
def test_types_of_tangents(case):
    """Includes dtypes that are too coarse for finite differences."""
    with case.context():
        args = case.args
        avals = [get_aval(arg) for arg in args]
        tangents = [np.ones(aval.shape, aval.to_tangent_aval().dtype) for aval in avals]
        error, message = refusal(case)
        if error is not None:
            with pytest.raises(error, match=message):
                jvp(case.run, tuple(args), tuple(tangents))
            return
        if case.primitive is lax.scatter_mul_p:  # by the updates, defined for unique indices only
            results, pushed = jvp(
                lambda x: case.run(x, *args[1:]), tuple(args[:1]), tuple(tangents[:1])
            )
        else:
            results, pushed = jvp(case.run, tuple(args), tuple(tangents))
        for result, tangent in zip(
            pytrees.tree_leaves(results), pytrees.tree_leaves(pushed), strict=True
        ):
            expected = get_aval(result).to_tangent_aval()
            found = np.asarray(tangent)
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
