# SPDX-License-Identifier: Apache-2.0
"""Derivatives of functions with references.

A reference made inside a differentiated function is invisible to the outer traces. Its tracer holds
the array with its tangent, and reads and writes become pure operations. Calls and loops that take
the reference are discharged first. Derivatives and their transposes therefore contain no
references.

References from outside are left as they are. Values read from them do not depend on the arguments,
and values with tangents cannot be written to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.tracing import Trace, Tracer, register_tracer_type, set_current_trace
from olympus_ir.references import primitives as references
from olympus_ir.references.discharge import apply_discharged
from olympus_ir.references.transforms import accumulated, read_view, written
from olympus_ir.references.values import RefMethods
from olympus_ir.types.avals import get_aval
from olympus_ir.types.references import AbstractRef

from ..zeros import instantiate

__all__ = ["HeldRefTracer", "apply_to_refs", "is_held"]


@register_tracer_type
class HeldRefTracer(RefMethods, Tracer):  # pyright: ignore[reportIncompatibleMethodOverride]
    """Tracer of a reference that was made under a trace of derivatives.

    Attributes:
      held: the current array; a tracer if the array has a tangent.
    """

    __slots__ = ("held",)

    def __init__(self, trace: Trace, aval: AbstractRef, held: Any) -> None:
        self._trace = trace
        self._aval = aval
        self.held = held

    def write(self, array: Any) -> None:
        """Replaces the held array, converted to the reference's type."""
        aval = self.aval.inner_aval
        self.held = lax.convert_dtype(array, aval.dtype, aval.weak_type)

    def _origin_message(self) -> str:
        return "The value is a reference that was made in a differentiated function."

    def __repr__(self) -> str:
        return f"HeldRefTracer({self._aval})"


def is_held(value: Any, trace: Trace) -> bool:
    """Returns whether a value is a reference that was made under the given trace."""
    return isinstance(value, HeldRefTracer) and value._trace is trace


def apply_to_refs(
    trace: Trace, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
) -> Any:
    """Applies a primitive that makes references, or takes references made under a trace.

    Returns:
      The result, or `NotImplemented` if none of the references belongs to the trace.
    """
    if primitive is references.new_ref_p:
        (aval,), _ = primitive.infer(tuple(map(get_aval, args)), params)
        return HeldRefTracer(trace, aval, args[0])  # type: ignore[arg-type]
    if primitive is references.empty_ref_p:
        (aval,), _ = primitive.infer((), params)
        ty = params["ty"]
        with set_current_trace(trace.parent):  # type: ignore[arg-type]
            return HeldRefTracer(trace, aval, lax.empty(ty.shape, ty.dtype))  # type: ignore[arg-type]
    if not any(is_held(arg, trace) for arg in args):
        return NotImplemented
    # This raises an error if the operands do not fit.
    primitive.infer(tuple(map(get_aval, args)), params)
    with set_current_trace(trace):
        rule = _rules.get(primitive)
        if rule is not None:
            return rule(*args, **params)
        return apply_discharged(
            primitive,
            args,
            params,
            is_discharged=lambda arg: is_held(arg, trace),
            read=lambda ref: ref.held,
            write=lambda ref, array: ref.write(array),
        )


class GivenRefs:
    """References among the arguments of a differentiated function, paired with tangent references.

    Args:
      trace: the interpreter that differentiates.
    """

    def __init__(self, trace: Any) -> None:
        self._trace = trace
        self._given: list[tuple[HeldRefTracer, Any, Any]] = []

    def input(self, ref: Any, tangent: Any) -> HeldRefTracer:
        """Returns the tracer that stands for a reference inside the function.

        Raises:
          TypeError: the tangent is not a reference to an array of tangents.
        """
        aval = get_aval(ref)
        tangent_aval, expected = get_aval(tangent), aval.inner_aval.to_tangent_aval()
        if not tangent_aval.is_ref or (tangent_aval.shape, tangent_aval.dtype) != (
            expected.shape,
            expected.dtype,
        ):
            raise TypeError(
                f"the tangent of a reference of type {aval.str_short()} is a reference to an array "
                f"of type {expected.str_short()}, got a value of type {tangent_aval.str_short()}"
            )
        held = self._trace.pair(references.get(ref, ...), references.get(tangent, ...))
        tracer = HeldRefTracer(self._trace, aval, held)
        self._given.append((tracer, ref, tangent))
        return tracer

    def write_back(self) -> None:
        """Writes the final values and tangents to the references."""
        for tracer, ref, tangent in self._given:
            primal, change = self._trace.unpair(tracer.held)
            references.set(ref, ..., primal)
            references.set(tangent, ..., instantiate(change))


def _get(ref: HeldRefTracer, *leaves: Any, tree: Any) -> Any:
    return read_view(ref.held, references.transforms_of(leaves, tree))


def _swap(ref: HeldRefTracer, value: Any, *leaves: Any, tree: Any) -> Any:
    transforms = references.transforms_of(leaves, tree)
    previous = read_view(ref.held, transforms)
    ref.write(written(ref.held, transforms, value))
    return previous


def _addupdate(ref: HeldRefTracer, value: Any, *leaves: Any, tree: Any) -> list[Any]:
    ref.write(accumulated(ref.held, references.transforms_of(leaves, tree), value))
    return []


def _freeze(ref: HeldRefTracer) -> Any:
    return ref.held


def _free_ref(ref: HeldRefTracer) -> list[Any]:
    return []


_rules: dict[Primitive, Any] = {
    references.get_p: _get,
    references.swap_p: _swap,
    references.addupdate_p: _addupdate,
    references.freeze_p: _freeze,
    references.free_ref_p: _free_ref,
}


def differentiated_write(primitive: Primitive, ref: Any) -> Exception:
    """Returns the error for writing a differentiated value to a reference without a tangent."""
    operation = "an addupdate" if primitive is references.addupdate_p else "a set/swap"
    return ValueError(
        f"performing {operation} operation with a differentiated value on a non-differentiated "
        f"array reference of type {get_aval(ref).str_short()}. Move the array reference to be an "
        "argument of the differentiated function (with `jvp`, which gives it a tangent), make it "
        "within the function, or write `stop_gradient` of the value."
    )
