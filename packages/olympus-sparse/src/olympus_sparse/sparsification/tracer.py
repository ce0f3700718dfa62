# SPDX-License-Identifier: Apache-2.0
"""Tracers of sparse arrays, on which a function runs operation by operation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.tracing import (
    Trace,
    Tracer,
    current,
    register_tracer_type,
    set_current_trace,
)
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import ShapedArray, get_aval

from .interpreter import apply, is_sparse

__all__ = ["SparseTracer", "call_with_tracers"]


@register_tracer_type
class SparseTracer(Tracer):
    """Tracer that stands for a sparse or dense array while a function of dense arrays runs.

    Args:
      trace: the trace of the tracer.
      spvalue: the array.
    """

    __slots__ = ("_spvalue",)

    def __init__(self, trace: Trace, *, spvalue: Any) -> None:
        self._trace = trace
        self._spvalue = spvalue

    @property
    def spenv(self) -> Any:
        """The trace to which the tracer belongs."""
        return self._trace

    @property
    def aval(self) -> Any:
        value = self._spvalue
        return ShapedArray(value.shape, value.dtype) if is_sparse(value) else get_aval(value)

    def full_lower(self) -> SparseTracer:
        """Returns the tracer itself, since it has no simpler form."""
        return self


class SparseTrace(Trace):
    """Applies primitives to sparse arrays by their sparse rules."""

    __slots__ = ()

    def __init__(self, parent: Trace) -> None:
        super().__init__()
        self.parent = parent

    def _value(self, operand: Any) -> Any:
        if isinstance(operand, SparseTracer) and operand._trace is self:
            return operand._spvalue
        return operand

    def _traced(self, value: Any) -> SparseTracer:
        return SparseTracer(self, spvalue=value)

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        operands = [self._value(arg) for arg in args]
        assert self.parent is not None
        with set_current_trace(self.parent):
            if any(map(is_sparse, operands)):
                results = apply(primitive, operands, params)
            else:
                out = primitive.bind_with_trace(self.parent, operands, params)
                results = out if primitive.multiple_results else [out]
        traced = [self._traced(result) for result in results]
        return traced if primitive.multiple_results else traced[0]

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: Any, args: Any, **options: Any
    ) -> Sequence[Any]:
        # Differentiation happens outside or inside of the sparse trace, so the rule is not needed.
        return fun(*args)

    def process_custom_vjp_call(
        self, primitive: Any, fun: Any, fwd: Any, bwd: Any, args: Any, **options: Any
    ) -> Sequence[Any]:
        return fun(*args)


def call_with_tracers(f: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of sparse arrays that calls ``f`` with sparse tracers."""

    @functools.wraps(f)
    def sparsified(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = pytrees.tree_flatten((args, kwargs), is_leaf=is_sparse)
        trace = SparseTrace(current.trace)
        with set_current_trace(trace):
            tracers = [trace._traced(leaf) for leaf in leaves]
            full_args, full_kwargs = pytrees.tree_unflatten(in_tree, tracers)
            out = f(*full_args, **full_kwargs)
        trace.finished = True
        return pytrees.tree_map(trace._value, out)

    return sparsified
