# SPDX-License-Identifier: Apache-2.0
"""Reference evaluator, which applies primitives one by one with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..diagnostics.source_info import signature_of
from ..lax.core.values import Array, array_aval
from ..loading import deferred
from ..programs.calls.options import JitOptions, jit_options
from ..programs.calls.traced_programs import TracedProgram
from ..programs.calls.tracing import trace_call
from ..programs.expansion import expansion_rules
from ..programs.jit import call_under_trace, jit
from ..programs.primitives import Primitive
from ..programs.tracing import (
    EvaluationTrace,
    Tracer,
    current,
    evaluation_trace,
    operand_type_error,
    reject_tracers,
    set_current_trace,
)
from ..programs.wide_constants import with_wide_constants
from ..settings import config, config_states
from ..trees import pytrees
from ..trees.wrapping import wraps
from ..types import dtypes, known_types
from ..types.avals import AbstractValue, ShapedArray, abstract_token, array_conversion, get_aval
from ..types.extended_arrays import ExtendedArray, physical_aval
from .arrays import ReferenceArray, elements_of, physical_of
from .runs import run
from .tables import array_rules, reference_rules

if TYPE_CHECKING:
    from ..programs import mutable_types
else:
    mutable_types = deferred("..programs.mutable_types", milliseconds=3.5)

__all__ = ["ReferenceEvaluator", "reference_evaluator"]


class ReferenceEvaluator:
    """Evaluator that computes on the host with NumPy, by the rules in `reference_rules`.

    This evaluator is used if olympus-xla is not installed. Tests compare compiled programs with it.
    It is written for readability, not for speed.
    """

    name = "reference"

    def evaluate(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Applies a primitive to concrete operands.

        Raises:
          UnexpectedTracerError: if a tracer is among the operands.
          MissingRuleError: if the primitive has no rule.
        """
        args = with_wide_constants(args, params)
        rule = reference_rules.rules.get(primitive) or reference_rules.find(primitive)
        if rule is None or rule in array_rules:
            arrays = [
                arg if arg.__class__ is ReferenceArray else _as_array(primitive, position, arg)
                for position, arg in enumerate(args)
            ]
            if isinstance(current.trace, EvaluationTrace):
                return _apply_to_arrays(primitive, rule, arrays, params)
            # Rules apply primitives to concrete values, even during tracing.
            with set_current_trace(evaluation_trace):
                return _apply_to_arrays(primitive, rule, arrays, params)
        values, avals = [], []
        for position, arg in enumerate(args):
            if arg.__class__ is ReferenceArray:
                values.append(arg._value)
                avals.append(arg._aval)
            else:
                value, aval = _elements(primitive, position, arg)
                values.append(value)
                avals.append(aval)
        out_avals, _ = primitive.infer(tuple(avals), params)
        with np.errstate(all="ignore"):
            results = rule(*values, **params)
        if primitive.multiple_results:
            return [
                _result(primitive, value, aval)
                for value, aval in zip(results, out_avals, strict=True)
            ]
        return _result(primitive, results, out_avals[0])

    def array(self, value: Any, aval: AbstractValue) -> Any:
        """Copies a NumPy array or scalar into an array of a given type."""
        assert isinstance(aval, ShapedArray)
        return ReferenceArray(np.array(value, dtype=aval.dtype), aval)

    def jit(self, fun: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        """Returns a function that traces ``fun`` once for each signature and runs the program.

        Options for memory, placement and compilation have no effect.
        """
        return _jit(fun, jit_options(fun, **options))


reference_evaluator = ReferenceEvaluator()


def _elements(primitive: Primitive, position: int, value: Any) -> tuple[np.ndarray, Any]:
    """Returns elements and type of a concrete operand that is not a `ReferenceArray`."""
    reject_tracers(primitive, (value,))
    try:
        aval = array_aval(value)
    except TypeError as error:
        raise operand_type_error(primitive, position, value) from error
    if isinstance(value, ExtendedArray):
        return elements_of(np.asarray(value.physical), value.dtype), aval
    convert = array_conversion(value)
    return np.array(value if convert is None else convert()).astype(aval.dtype, copy=False), aval


def _as_array(primitive: Primitive, position: int, value: Any) -> Any:
    if isinstance(value, ExtendedArray):
        return value
    aval = get_aval(value) if not isinstance(value, Tracer) else None
    if aval is abstract_token or (aval is not None and aval.is_ref):
        return value
    elements, aval = _elements(primitive, position, value)
    return ReferenceArray(elements, aval)


def _apply_to_arrays(
    primitive: Primitive,
    rule: Callable[..., Any] | None,
    arrays: Sequence[Any],
    params: dict[str, Any],
) -> Any:
    """Applies a primitive to arrays of the evaluator.

    Uses ``rule`` if given. Otherwise uses the primitive's expansion or, for a primitive of a third
    party, its own implementation.
    """
    if rule is None:
        rule = expansion_rules.rules.get(primitive) or primitive.eager
        if primitive in expansion_rules:  # the expansion's shape rule checks the operands
            primitive.infer(tuple(map(get_aval, arrays)), params)
    if rule is None:
        raise reference_rules.missing(primitive)
    results = rule(*arrays, **params)
    if not primitive.multiple_results:
        return _as_array(primitive, 0, results)
    return [_as_array(primitive, position, result) for position, result in enumerate(results)]


def _result(primitive: Primitive, value: Any, aval: AbstractValue) -> Any:
    assert isinstance(aval, ShapedArray)
    value = np.asarray(value)
    if dtypes.is_extended(aval.dtype):
        physical = physical_of(value, aval.dtype)
        return ExtendedArray(ReferenceArray(physical, physical_aval(aval)), aval)
    if value.dtype != aval.dtype or value.shape != aval.shape:
        raise AssertionError(
            f"the reference rule of {primitive.name} returned {value.dtype}{list(value.shape)}, "
            f"but its shape rule returned {aval.str_short()}"
        )
    if config.debug_nans.value or config.debug_infs.value:
        _check_special(primitive, value)
    # A rule may return its operand or a view of its operand, so all arrays are read-only.
    return ReferenceArray(value, aval)


def _check_special(primitive: Primitive, value: np.ndarray) -> None:
    if not dtypes.issubdtype(value.dtype, np.inexact):
        return
    wide = value if value.dtype.kind in "fc" else value.astype(np.float32)
    if config.debug_nans.value and np.isnan(wide).any():
        raise FloatingPointError(f"invalid value (nan) encountered in {primitive.name}")
    if config.debug_infs.value and np.isinf(wide).any():
        raise FloatingPointError(f"invalid value (inf) encountered in {primitive.name}")


# ---- jit ----


def _result_array(result: Any) -> Any:
    """Returns a result of a program, which may be an operand or a literal, as an array."""
    if isinstance(result, Array):
        return result
    return reference_evaluator.array(result, get_aval(result))


def _jit(fun: Callable[..., Any], options: JitOptions) -> Callable[..., Any]:
    @wraps(fun)
    def jitted(*args: Any, **kwargs: Any) -> Any:
        if config_states.disable_jit.value:
            return fun(*args, **kwargs)
        if known_types.mutable and not hasattr(fun, "knows_mutables"):
            return _call_with_mutables(fun, options, args, kwargs)
        if current.trace is not evaluation_trace:
            return call_under_trace(fun, options, args, kwargs)
        return _results(*trace_call(fun, options, args, kwargs))

    try:
        jitted.__signature__ = signature_of(fun)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        pass
    return jitted


def _results(program: TracedProgram, leaves: Sequence[Any]) -> Any:
    arrays = list(map(_result_array, run(program.closed, [*program.hoisted, *leaves])))
    return pytrees.tree_unflatten(program.out_tree, arrays)


def _call_with_mutables(
    fun: Callable[..., Any], options: JitOptions, args: tuple, kwargs: dict[str, Any]
) -> Any:
    """Calls a function whose arguments may be objects of mutable types."""

    def call(args: tuple, kwargs: dict[str, Any]) -> tuple[Any]:
        if current.trace is not evaluation_trace:
            return (call_under_trace(fun, options, args, kwargs),)
        return (_results(*trace_call(fun, options, args, kwargs)),)

    known = mutable_types.result_without_mutables(fun, call, args, kwargs)
    if known is not None:
        return known[0]
    numbers, names = options.static_argnums, options.static_argnames
    return mutable_types.call_jitted(jit, fun, numbers, names, args, kwargs)
