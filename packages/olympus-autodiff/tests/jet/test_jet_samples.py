# SPDX-License-Identifier: Apache-2.0
"""The sample of each primitive: its series along a curve is that of nested forward derivatives."""

from __future__ import annotations

import math

import numpy as np
import pytest

from olympus_autodiff import jvp, jvp_rules
from olympus_autodiff.jet import jet, jet_rules
from olympus_ir import lax, primitives
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import get_aval
from olympus_testing import assert_close, cases

ORDER = 3

# Nested derivatives of these take ten seconds, and their operands broadcast as those of others.
SLOW = {"igamma", "igammac", "igamma_grad_a", "random_gamma_grad"}
BROADCASTING = ("scalar_and_matrix", "matrix_and_scalar", "row_and_column")

CASES = [
    case
    for case in cases()
    if case.differentiable
    and "forward" in case.modes
    and not (case.primitive.name in SLOW and case.label.startswith(BROADCASTING))
]


def along(fun, primals, series):
    """The derivatives of a function along a polynomial curve, by forward mode in nested calls."""

    def at(t):
        point = []
        for x, terms in zip(primals, series, strict=True):
            power = t
            for k, term in enumerate(terms, 1):
                factor = lax.convert_element_type(power, x.dtype)
                x = lax.add(x, lax.mul(factor, term / math.factorial(k)))
                power = lax.mul(power, t)
            point.append(x)
        return fun(*point)

    derivatives = []
    for _ in range(ORDER):
        at = derivative(at)
        derivatives.append(pytrees.tree_leaves(at(0.0)))
    return [list(terms) for terms in zip(*derivatives, strict=True)]


def derivative(fun):
    return lambda t: jvp(fun, (t,), (1.0,))[1]


def is_smooth(value):
    return np.issubdtype(get_aval(value).dtype, np.inexact)


@pytest.mark.thorough(
    "random_gamma_grad-large-float64",
    "igamma_grad_a-large-float64",
    "igamma-small-float64",
    "igamma-large-float64",
    "igammac-small-float64",
    "igammac-large-float64",
)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_series_equals_nested_derivatives(case):
    with case.context():
        args = list(case.args)

        def fun(*chosen):
            operands = list(args)
            for place, value in zip(case.differentiable, chosen, strict=True):
                operands[place] = value
            return [leaf for leaf in pytrees.tree_leaves(case.run(*operands)) if is_smooth(leaf)]

        primals = [np.asarray(args[place]) for place in case.differentiable]
        generator = np.random.default_rng(0)
        series = [
            [0.3 * generator.standard_normal(x.shape).astype(x.dtype) for _ in range(ORDER)]
            for x in primals
        ]
        results, terms = jet(fun, primals, series)
        assert_close(results, fun(*primals))
        expected = along(fun, primals, series)
        for found, wanted in zip(terms, expected, strict=True):
            scale = max(float(np.max(np.abs(term), initial=1.0)) for term in wanted)
            assert_close(found, wanted, rtol=1e-8, atol=1e-9 * scale)


def test_all_primitives_are_covered():
    """Each has a rule for series or a derivative."""
    for primitive in primitives():
        covered = primitive in jet_rules or primitive in jvp_rules
        assert covered or primitive in jvp_rules.exemptions, primitive.name
