# SPDX-License-Identifier: Apache-2.0
"""Checks of results for NaN, also for primitives outside of the instruction set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from olympus_autodiff.rematerialization.policies import name_p
from olympus_ir import lax
from olympus_ir.expansions.uninitialized import empty2_p
from olympus_ir.programs.evaluation import bind_equation
from olympus_ir.programs.olympuspr import Equation
from olympus_ir.programs.primitives import Primitive
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray, get_aval

from ..errors import Error, ErrorCategory, NaNError, Site
from ..interpreter import code_of
from ..tables import Enabled, ErrorRule, Outcome, error_rules

__all__ = ["any_of", "check_results_for_nans", "found", "with_nan_check", "with_value_check"]


def found(
    error: Error,
    equation: Equation,
    site: Site,
    failed: Any,
    payload: Sequence[Any] = (),
    ordinal: int = 0,
) -> Error:
    """Adds one check of an equation to an error.

    Args:
      error: the error that has occurred so far.
      equation: the equation.
      site: the check.
      failed: whether the check fails, a scalar of dtype bool.
      payload: the values that the message shows.
      ordinal: a number that distinguishes the checks of one kind in one equation.

    Returns:
      The error after the check.
    """
    code = code_of(equation, site, ordinal)
    return error.updated(site, failed, code, payload).with_metadata({code: site})


def with_nan_check(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Outcome:
    """Applies an equation and checks its results for NaN: the rule of most operations."""
    error, results = with_value_check(equation, enabled, error, operands)
    return check_for_nans(equation, enabled, error, results), results


def with_value_check(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Outcome:
    """Applies an equation, and checks its results if `install_value_check` has installed a check.

    A check belongs to one kind of errors, which must be enabled. The kinds in `float_checks` have
    no such check: as in JAX, they ignore operations with this rule, such as matrix factorizations.
    """
    for kind, rule in _value_checks.items():
        if kind in enabled:
            return rule(equation, enabled, error, operands)
    return error, bind_equation(equation, operands)


_value_checks: dict[ErrorCategory, ErrorRule] = {}


def install_value_check(kind: ErrorCategory, rule: ErrorRule) -> None:
    """Installs a rule for operations with checked results; see `with_value_check`.

    Args:
      kind: the kind of errors that the rule checks for. If it is not enabled, the rule is not used.
      rule: the rule, which applies an equation and checks its results.
    """
    _value_checks[kind] = rule


def check_for_nans(
    equation: Equation, enabled: Enabled, error: Error, results: Sequence[Any]
) -> Error:
    """Adds a check of each inexact result for NaN."""
    if NaNError in enabled:
        site = Site(NaNError, (equation.primitive.name,), equation.source_info)
        for position, result in enumerate(results):
            aval = get_aval(result)
            if isinstance(aval, ShapedArray) and dtypes.issubdtype(aval.dtype, np.inexact):
                failed = any_of(lax.ne(result, result))
                error = found(error, equation, site, failed, ordinal=position)
    return error


def any_of(flags: Any) -> Any:
    """Returns whether any of some flags is set, a scalar of dtype bool."""
    return lax.reduce_or(flags, tuple(range(np.ndim(flags)))) if np.ndim(flags) else flags


def check_results_for_nans(primitives: Iterable[Primitive]) -> None:
    """Defines rules that check the results of the given primitives for NaN."""
    for primitive in primitives:
        error_rules.define(primitive, with_nan_check)


@error_rules.derive("its declaration as elementwise")
def _check_elementwise(primitive: Primitive) -> ErrorRule | None:
    """Returns the NaN check as the rule of an elementwise operation without an exemption."""
    return with_nan_check if primitive.elementwise else None


@error_rules.derive("nothing is known of the primitive")
def _check_unknown(primitive: Primitive) -> ErrorRule | None:
    """Returns the NaN check as the rule of a primitive outside of the instruction set.

    Libraries, for example, define such primitives. The result is None for a primitive of the
    instruction set, which cannot fail if it has no rule.
    """
    return None if primitive.family else with_nan_check


error_rules.exempt(name_p, reason="it returns its operand")
error_rules.exempt(empty2_p, reason="its elements are not initialized")
