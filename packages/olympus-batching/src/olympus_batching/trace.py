# SPDX-License-Identifier: Apache-2.0
"""The trace of `vmap`: applies each primitive to all examples at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from olympus_ir.loading import deferred
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.leaks import check_leaks
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.tracing import AxisEnvironment, Trace, current, set_current_trace
from olympus_ir.settings.config_states import check_tracer_leaks
from olympus_ir.types.avals import operand_avals

from .custom_calls import BatchedBackward, BatchedForward, BatchedFunction, BatchedJvp
from .dimensions import BatchAxis, BatchDim, examples, unbatched_aval
from .tables import axis_rules, batching_rules
from .tracers import BatchTracer

if TYPE_CHECKING:
    from . import ref_tracers
else:
    ref_tracers = deferred(".ref_tracers", milliseconds=5)

_axis_rules = axis_rules.rules
_batching_rules = batching_rules.rules


class BatchTrace(Trace):
    """Trace that applies primitives to operands, some of which hold all examples of a mapped axis.

    Args:
      parent: the enclosing trace, which applies the batched primitives.
      axis: the mapped axis.
      fun: the mapped function, for error messages.
      tag: an object that identifies the call of `vmap`. Functions with custom derivative rules are
        batched by further traces with the same tag, so they may close over tracers of the first.
    """

    __slots__ = ("axis", "fun", "tag")

    def __init__(
        self, parent: Trace, axis: BatchAxis, fun: Any = None, tag: object | None = None
    ) -> None:
        super().__init__()
        self.parent: Trace = parent  # pyright: ignore[reportIncompatibleVariableOverride]
        self.axis = axis
        self.fun = fun
        self.tag = object() if tag is None else tag

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        values = []
        dims = []
        batched = False
        for arg in args:
            if isinstance(arg, BatchTracer) and arg._trace.tag is self.tag:
                values.append(arg.value)
                dims.append(arg.batch_dim)
                batched = True
            else:
                values.append(arg)
                dims.append(None)
        rule = _batching_rules.get(primitive) or batching_rules.find(primitive)
        axis_rule = _axis_rules.get(primitive)  # the look-up above has loaded the rule's module
        if examples.layout is not self.axis.layout:
            return self._process_split(primitive, args, params)
        if not batched and (axis_rule is None or self.axis.name is None):
            if primitive.family == "references":
                made = self._make_ref(primitive, args, params)
                if made is not None:
                    return made
            return primitive.bind_with_trace(self.parent, args, params)
        if axis_rule is not None:
            with set_current_trace(self.parent):
                out, out_dims = axis_rule(self.axis, values, dims, **params)
        else:
            if rule is None:
                return self._expand(primitive, args, params)
            try:
                with set_current_trace(self.parent):
                    out, out_dims = rule(self.axis.size, values, dims, **params)
            except (AttributeError, IndexError, TypeError, ValueError, ZeroDivisionError):
                of_example = self._error_of_example(primitive, values, dims, params)
                if of_example is None:
                    raise
                raise of_example from None
        if primitive.multiple_results:
            return [
                value if dim is None else BatchTracer(self, value, dim)
                for value, dim in zip(out, out_dims, strict=True)
            ]
        return out if out_dims is None else tracer_of(self, out, out_dims)

    def _error_of_example(
        self,
        primitive: Primitive,
        values: Sequence[Any],
        dims: Sequence[BatchDim],
        params: dict[str, Any],
    ) -> Exception | None:
        """Returns the error of the primitive for one example; None if it accepts the example.

        The error of a batching rule would name the shapes of all examples.

        Raises:
          TypeError: an operand is not an array.
        """
        avals = operand_avals(primitive.name, values)  # raises if an operand is not an array
        of_one = [
            unbatched_aval(aval, dim, self.axis.size) for aval, dim in zip(avals, dims, strict=True)
        ]
        return primitive.refusal(tuple(of_one), params)

    def _process_split(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """Applies a primitive to examples that are sharded over explicit axes."""
        saved = examples.layout
        examples.layout = self.axis.layout
        try:
            return self.process_primitive(primitive, args, params)
        finally:
            examples.layout = saved

    def _make_ref(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Returns a new batched reference; None if the primitive makes no reference."""
        if primitive.name not in ("new_ref", "empty_ref"):
            return None
        rule = batching_rules[primitive]
        with set_current_trace(self.parent):
            ref, dim = rule(self.axis.size, args, [None] * len(args), **params)
        return tracer_of(self, ref, dim)

    def _expand(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Batches the expansion of a primitive without a rule."""
        expansion = expansion_rules.get(primitive)
        if expansion is None:
            raise batching_rules.missing(primitive)
        with set_current_trace(self):
            return expansion(*args, **params)

    # ---- functions with custom derivative rules ----

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: Any, args: Any, **options: Any
    ) -> Sequence[Any]:
        values, dims = self.unwrap(args)
        batched_fun = BatchedFunction(self, fun, dims)
        batched_jvp = BatchedJvp(batched_fun, jvp)
        with set_current_trace(self.parent) as parent:
            outs = parent.process_custom_jvp_call(
                primitive, batched_fun, batched_jvp, values, **options
            )
        out_dims = batched_fun.out_dims
        if out_dims is None:  # the outer trace called the derivative rule instead
            out_dims = batched_jvp.out_dims
        assert out_dims is not None
        return self.wrap(outs, out_dims)

    def process_custom_vjp_call(
        self, primitive: Any, fun: Any, fwd: Any, bwd: Any, args: Any, **options: Any
    ) -> Sequence[Any]:
        values, dims = self.unwrap(args)
        batched_fun = BatchedFunction(self, fun, dims)
        batched_fwd = BatchedForward(batched_fun, fwd)
        batched_bwd = BatchedBackward(self, bwd, batched_fwd)
        with set_current_trace(self.parent) as parent:
            outs = parent.process_custom_vjp_call(
                primitive, batched_fun, batched_fwd, batched_bwd, values, **options
            )
        out_dims = batched_fun.out_dims
        if out_dims is None:  # the outer trace called the forward pass instead
            assert batched_fwd.out_dims is not None
            out_dims = batched_fwd.out_dims[len(batched_fwd.out_dims) - len(outs) :]
        return self.wrap(outs, out_dims)

    def call(
        self, fun: Callable[..., Sequence[Any]], args: Sequence[Any], dims: Sequence[BatchDim]
    ) -> tuple[list[Any], list[BatchDim]]:
        """Calls another function on all examples of the same axis; see `call_batched`."""
        return call_batched(fun, self.axis, args, dims, self.fun, self.tag)

    # ---- values and tracers ----

    def unwrap(self, args: Sequence[Any]) -> tuple[list[Any], list[BatchDim]]:
        """Returns the values of tracers of this trace, and their batch dimensions."""
        values: list[Any] = []
        dims: list[BatchDim] = []
        for arg in args:
            if isinstance(arg, BatchTracer) and arg._trace.tag is self.tag:
                values.append(arg.value)
                dims.append(arg.batch_dim)
            else:
                values.append(arg)
                dims.append(None)
        return values, dims

    def wrap(self, values: Sequence[Any], dims: Sequence[BatchDim]) -> list[Any]:
        """Returns tracers of the values that have a batch dimension, and other values unchanged."""
        return [
            value if dim is None else tracer_of(self, value, dim)
            for value, dim in zip(values, dims, strict=True)
        ]


def tracer_of(trace: BatchTrace, value: Any, batch_dim: int) -> BatchTracer:
    """Returns the tracer of a batched value, an array or a reference."""
    # Compare with `is True`, because the class `ShapeDtypeStruct` has a descriptor of this name.
    if getattr(type(value), "is_ref", False) is True:
        return ref_tracers.BatchRefTracer(trace, value, batch_dim)
    return BatchTracer(trace, value, batch_dim)


# ---- running a function of one example on all of them ----


def call_batched(
    fun: Callable[..., Sequence[Any]],
    axis: BatchAxis,
    args: Sequence[Any],
    dims: Sequence[BatchDim],
    source: Any = None,
    tag: object | None = None,
) -> tuple[list[Any], list[BatchDim]]:
    """Calls a function of flat operands on all examples.

    Args:
      fun: the function, which takes and returns values of one example.
      axis: the mapped axis.
      args: the operands. Each operand with a batch dimension holds all examples.
      dims: the operands' batch dimensions.
      source: the user's function, for error messages.
      tag: the tag of the trace that this trace continues, or None; see `BatchTrace`.

    Returns:
      The results of all examples, and their batch dimensions.
    """
    if examples.layout is not None and examples.layout is not axis.layout:
        # This runs in a batching rule of an outer `vmap`. The outer layout does not apply here.
        saved, examples.layout = examples.layout, None
        try:
            return call_batched(fun, axis, args, dims, source, tag)
        finally:
            examples.layout = saved
    trace = BatchTrace(current.trace, axis, source, tag)
    saved_axes = current.axes
    if axis.name is not None or axis.spmd_name is not None:
        current.axes = extended_axes(saved_axes, axis)
    try:
        with set_current_trace(trace):
            outs = fun(*trace.wrap(args, dims))
        results = trace.unwrap(outs)
    finally:
        current.axes = saved_axes
        trace.finished = True
    if source is not None and check_tracer_leaks.value:
        outs = None  # the leak check must find no reference to the trace in this frame
        check_leaks(trace)
    return results


def extended_axes(axes: AxisEnvironment, axis: BatchAxis) -> AxisEnvironment:
    """Returns the named axes in scope of a mapped function."""
    sizes = {} if axis.name is None else {axis.name: axis.size}
    names = axis.spmd_name if isinstance(axis.spmd_name, tuple) else (axis.spmd_name,)
    spmd_names = frozenset() if axis.spmd_name is None else frozenset(names)
    return axes.extend(sizes, spmd_names=spmd_names)
