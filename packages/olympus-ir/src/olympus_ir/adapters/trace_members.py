# SPDX-License-Identifier: Apache-2.0
"""Members of traces and primitives for libraries that define their own interpreters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..lax.calls.primitives import CustomCall
from ..programs.primitives import Primitive
from ..programs.tracing import Trace, current, set_current_trace
from ..types.avals import get_aval
from .attaching import attach
from .wrapped_functions import as_wrapped

__all__: list[str] = []


# ---- traces ----


def _main(self: Trace) -> Trace:
    """The trace itself. Libraries compare it to recognize the trace's tracers."""
    return self


def _parent_trace(self: Trace) -> Trace | None:
    """The enclosing trace."""
    return self.parent


def _set_parent_trace(self: Trace, trace: Trace | None) -> None:
    self.parent = trace


def _full_raise(self: Trace, x: Any) -> Any:
    """Returns the value unchanged, because traces accept the tracers of other traces."""
    return x


def _process_call(
    self: Trace, call_primitive: Primitive, f: Any, tracers: Any, params: Any, /
) -> Any:
    """Calls a wrapped function under this trace."""
    with set_current_trace(self):
        return f.call_wrapped(*tracers)


def _invalidate(self: Trace) -> None:
    """Marks the trace as finished, which invalidates its tracers."""
    self.finished = True


def _is_valid(self: Trace) -> bool:
    """Returns whether the traced function is still running."""
    return not self.finished


attach(
    Trace,
    full_raise=_full_raise,
    invalidate=_invalidate,
    is_valid=_is_valid,
    main=property(_main),
    parent_trace=property(_parent_trace, _set_parent_trace),
    process_call=_process_call,
    # True if the trace accepts values of high types only as arrays.
    requires_low=False,
    stage_value=_full_raise,
)


# ---- primitives ----


def _get_bind_params(self: Primitive, params: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments with which `bind` applies an equation's primitive again.

    Functions are under the key ``subfuns``.
    """
    return params


def _get_bind_params_of_call(self: CustomCall, params: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments with which `bind` applies a call again."""
    call_params = self.functions_of(params)
    return {**call_params, "subfuns": tuple(map(as_wrapped, call_params["subfuns"]))}


def _def_bind_with_trace(
    self: Primitive, bind_with_trace: Callable[..., Any]
) -> Callable[..., Any]:
    """Sets the function that applies the primitive under every interpreter.

    Args:
      self: the primitive.
      bind_with_trace: takes ``(trace, operands, types of the operands, params)`` and returns the
        results.
    """

    def bind(*args: Any, **params: Any) -> Any:
        avals = [get_aval(arg) for arg in args]
        return bind_with_trace(current.trace, list(args), avals, params)

    self.bind = bind  # type: ignore[method-assign]
    self.bind_with_trace = bind_with_trace  # type: ignore[method-assign]
    return bind_with_trace


def _is_high(self: Primitive, *avals: Any, **params: Any) -> bool:
    """Returns False, because these primitives have no operands of high types."""
    return False


def _to_lojax(self: Primitive, *args: Any, **params: Any) -> Any:
    """Applies the primitive to the arrays to which values of high types were expanded."""
    return self.bind(*args, **params)


attach(
    Primitive,
    call_primitive=False,
    map_primitive=False,
    ref_primitive=False,
    ref_allocating=False,
    skip_canonicalization=False,
    is_effectful=None,
    def_bind_with_trace=_def_bind_with_trace,
    def_effectful_abstract_eval2=Primitive.def_effectful_abstract_eval,
    get_bind_params=_get_bind_params,
    is_high=_is_high,
    to_lojax=_to_lojax,
)
attach(CustomCall, get_bind_params=_get_bind_params_of_call)
