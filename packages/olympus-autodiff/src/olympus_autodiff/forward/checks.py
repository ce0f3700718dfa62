# SPDX-License-Identifier: Apache-2.0
"""Checks of functions under differentiation: results, tangents, closed-over values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from olympus_ir.diagnostics.errors import UnexpectedTracerError
from olympus_ir.programs.tracing import Tracer
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray

from ..zeros import Zero, aval_of

__all__ = [
    "check_constants",
    "check_no_reference",
    "check_no_tracers",
    "check_results_are_arrays",
    "closed_over_error",
    "is_float0",
    "reference_error",
    "split_aux",
    "tangent_aval_of",
]


def is_float0(value: Any) -> bool:
    """Returns whether a value has dtype ``float0``, the dtype of tangents of integers."""
    return getattr(value, "dtype", None) == dtypes.float0


def tangent_aval_of(tangent: Any) -> Any:
    """Returns the type of a tangent or cotangent, which may be of dtype ``float0``."""
    if is_float0(tangent):
        return ShapedArray(tangent.shape, dtypes.float0)
    return aval_of(tangent)


def split_aux(result: Any) -> tuple[Any, Any]:
    """Returns the two parts of the result of a function with ``has_aux``.

    Raises:
      TypeError: the result is not a pair.
    """
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise TypeError(
            "expected function with aux output to return a two-element tuple, but got type "
            f"{type(result).__name__} with value {result!r}. With has_aux=True, return a pair: the "
            "result to differentiate, and other values, as (loss, aux)."
        )
    return result[0], result[1]


def check_results_are_arrays(leaves: Iterable[Any]) -> None:
    """Raises TypeError if a result of a differentiated function is not an array."""
    for leaf in leaves:
        aval = aval_of(leaf)
        if aval.is_ref:
            raise TypeError(
                f"a differentiated function returned a reference, of type {aval.str_short()}: "
                "return its value, `ref[...]`"
            )


def check_no_reference(aval: Any) -> None:
    """Raises TypeError if a function would be differentiated with respect to a reference."""
    if aval.is_ref:
        raise reference_error(aval)


def reference_error(aval: Any) -> TypeError:
    """Returns the error for a derivative with respect to a reference."""
    return TypeError(
        "functions cannot be differentiated with respect to a reference, of type "
        f"{aval.str_short()}: pass its value, `ref[...]`, and make a reference inside"
    )


def check_constants(kind: str, tangents: Sequence[Any]) -> None:
    """Raises if a closed-over value of a function with a custom rule has a tangent.

    Args:
      kind: ``"custom_jvp"`` or ``"custom_vjp"``.
      tangents: the tangents of the values that the function closes over.

    Raises:
      UnexpectedTracerError: a tangent is not a symbolic zero.
    """
    for tangent in tangents:
        if tangent.__class__ is not Zero:
            raise UnexpectedTracerError(
                f"Detected differentiation of a {kind} function with respect to a closed-over "
                "value. Its rule defines derivatives with respect to its arguments only. "
                f"Pass the value of type {aval_of(tangent).str_short()} to it as an argument."
            )


def check_no_tracers(consts: Iterable[Any]) -> None:
    """Raises if the derivative of a program depends on tracers that are not operands.

    This happens only if a custom rule closes over a traced value.

    Raises:
      UnexpectedTracerError: a constant is a tracer.
    """
    for value in consts:
        if isinstance(value, Tracer):
            raise closed_over_error(value)


def closed_over_error(tracer: Tracer) -> UnexpectedTracerError:
    """Returns the error for a custom rule that closes over a traced value."""
    return UnexpectedTracerError(
        "The derivative rule of a custom_jvp or custom_vjp function uses a traced value of type "
        f"{tracer.aval.str_short()} from an enclosing function, and the function is called inside "
        "a compiled function or control flow, whose derivative cannot depend on it. Pass the value "
        f"to the function as an argument. {tracer._origin_message()}"
    )
