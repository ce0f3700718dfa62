# SPDX-License-Identifier: Apache-2.0
"""Calls of programs with references, which are compiled in their pure form.

A reference holds a device array. A compiled program takes the array, and returns the updated array
in the same memory. If other objects use the array too, as after ``ref[...]``, it is copied first.
"""

from __future__ import annotations

from typing import Any

from olympus_ir import lax
from olympus_ir.programs.tracing import Tracer, escaped_tracer_error
from olympus_ir.references import primitives as references
from olympus_ir.references.values import Ref
from olympus_ir.types.avals import get_aval
from olympus_ir.types.references import AbstractRef

from ..arrays.transfer import put_leaf

# ---- references outside of tracing ----


def _new_ref(array: Any, *, memory_space: Any, kind: Any) -> Ref:
    if isinstance(array, Tracer):
        raise escaped_tracer_error(array, "was passed to `new_ref`")
    references.check_no_memory_space(memory_space)
    params = {"memory_space": memory_space, "kind": kind}
    (aval,), _ = references.new_ref_p.infer((get_aval(array),), params)
    return Ref(aval, put_leaf(array))  # type: ignore[arg-type]


def _empty_ref(*, ty: Any, memory_space: Any) -> Ref:
    return Ref(AbstractRef(ty, memory_space), lax.empty(ty.shape, ty.dtype))


def _freeze(ref: Ref) -> Any:
    return ref._current()


def _free_ref(ref: Ref) -> list[Any]:
    return []


def define_eager() -> None:
    """Defines the eager evaluation of primitives that make and free references."""
    references.new_ref_p.eager = _new_ref
    references.empty_ref_p.eager = _empty_ref
    references.freeze_p.eager = _freeze
    references.free_ref_p.eager = _free_ref
