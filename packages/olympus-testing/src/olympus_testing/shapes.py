# SPDX-License-Identifier: Apache-2.0
"""Comparison of shape rules with the results of the NumPy reference."""

from __future__ import annotations

import numpy as np

from olympus_ir.reference import reference_evaluator, reference_rules
from olympus_ir.reference.tables import array_rules
from olympus_ir.types.avals import ShapedArray, get_aval

from .samples import Case

__all__ = ["check_shape_rule"]


def check_shape_rule(case: Case) -> None:
    """Compares the types that a primitive's shape rule infers with the reference's results.

    Raises:
      AssertionError: shapes or dtypes differ.
    """
    with case.context(), np.errstate(all="ignore"):
        avals = tuple(get_aval(arg) for arg in case.args)
        inferred, _ = case.primitive.infer(avals, dict(case.params))
        rule = reference_rules.find(case.primitive)
        # A primitive without a rule on NumPy arrays has an expansion, or a rule on device arrays.
        # The evaluator applies either.
        if rule is None or rule in array_rules:
            results = reference_evaluator.evaluate(case.primitive, case.args, dict(case.params))
        else:  # a direct call skips the evaluator's check
            results = rule(*(np.asarray(arg) for arg in case.args), **case.params)
    values = results if case.primitive.multiple_results else [results]
    actual = [(np.shape(value), np.asarray(value).dtype) for value in values]
    expected = [(aval.shape, aval.dtype) for aval in inferred if isinstance(aval, ShapedArray)]
    assert actual == expected, f"{case}: the shape rule says {expected}, the reference {actual}"
