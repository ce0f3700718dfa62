# SPDX-License-Identifier: Apache-2.0
"""Batching of functions with custom derivative rules.

The function, its derivative rule, its forward pass and its backward pass each take flat values of
one example. This module wraps each as a function of all examples. An outer trace may call the
wrapped functions long after this trace has finished.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.source_info import function_name
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import Array

from .dimensions import BatchDim, batched_aval, materialize, shape_of, unbatched_aval

if TYPE_CHECKING:
    from .trace import BatchTrace


class BatchedFunction:
    """A function of one example, called on all examples. It stores the results' batch dimensions.

    If any operand is batched, all results are batched, even if they do not depend on that operand.
    The reason is that an outer trace may record the types of the results, and call the derivative
    rule later. The results of the rule must have the same types, and may depend on more operands.

    Args:
      trace: the interpreter that batches.
      fun: the function, of flat operands.
      dims: the operands' batch dimensions.

    Attributes:
      out_dims: the results' batch dimensions; None until the function has been called.
    """

    __slots__ = ("dims", "fun", "out_dims", "trace")

    def __init__(
        self, trace: BatchTrace, fun: Callable[..., Sequence[Any]], dims: Sequence[BatchDim]
    ) -> None:
        self.trace = trace
        self.fun = fun
        self.dims = dims
        self.out_dims: Sequence[BatchDim] | None = None

    @property
    def __name__(self) -> str:
        return function_name(self.fun)

    def __call__(self, *args: Any) -> list[Any]:
        outs, dims = self.trace.call(self.fun, args, self.dims)
        self.out_dims = dims
        if all(dim is None for dim in self.dims):
            return outs
        self.out_dims = [0 if dim is None else dim for dim in dims]
        return self._with_dims(outs, dims, self.out_dims)

    def _with_dims(
        self, values: Sequence[Any], dims: Sequence[BatchDim], positions: Sequence[BatchDim]
    ) -> list[Any]:
        """Returns values with their batch dimensions at other positions."""
        return [
            _placed(value, self.trace, dim, position)
            for value, dim, position in zip(values, dims, positions, strict=True)
        ]


class BatchedForward(BatchedFunction):
    """A forward pass, from primals to residuals and results, on all examples.

    With symbolic zeros, the primals are followed by one flag for each primal. The flag says whether
    the primal is differentiated.

    Args:
      function: the function itself on all examples. If it has been called, the results get the
        batch dimensions that it stores.
    """

    __slots__ = ("function",)

    def __init__(self, function: BatchedFunction, fwd: Callable[..., Sequence[Any]]) -> None:
        super().__init__(function.trace, fwd, function.dims)
        self.function = function

    def __call__(self, *args: Any) -> list[Any]:
        flags = [None] * (len(args) - len(self.dims))
        outs, dims = self.trace.call(self.fun, args, [*self.dims, *flags])
        of_results = self.function.out_dims
        if of_results is None:
            self.out_dims = dims
            return outs
        self.out_dims = [*dims[: len(dims) - len(of_results)], *of_results]
        return self._with_dims(outs, dims, self.out_dims)


class BatchedJvp(BatchedFunction):
    """A derivative rule of flat primals and tangents, on all examples.

    A result and its tangent get the same batch dimension.

    Args:
      function: the function itself on all examples. If it has been called, the results get the
        batch dimensions that it stores.
    """

    __slots__ = ("function",)

    def __init__(self, function: BatchedFunction, jvp: Callable[..., Sequence[Any]]) -> None:
        super().__init__(function.trace, jvp, function.dims)
        self.function = function

    def __call__(self, *primals_and_tangents: Any) -> list[Any]:
        args, dims = _with_unbatched_placeholders(primals_and_tangents, [*self.dims, *self.dims])
        outs, out_dims = self.trace.call(self.fun, args, dims)
        half = len(outs) // 2
        positions = self.function.out_dims
        if positions is None:
            positions = [
                of_tangent if of_primal is None else of_primal
                for of_primal, of_tangent in zip(out_dims[:half], out_dims[half:], strict=True)
            ]
        self.out_dims = positions
        return self._with_dims(outs, out_dims, [*positions, *positions])


class BatchedBackward:
    """A backward pass, from residuals and cotangents to operands' cotangents, on all examples.

    The cotangent of an operand that all examples share is the sum over the examples.

    Args:
      trace: the interpreter that batches.
      bwd: the backward pass.
      forward: the matching forward pass, which is called before the backward pass.
    """

    __slots__ = ("bwd", "forward", "trace")

    def __init__(
        self, trace: BatchTrace, bwd: Callable[..., Sequence[Any]], forward: BatchedForward
    ) -> None:
        self.trace = trace
        self.bwd = bwd
        self.forward = forward

    @property
    def __name__(self) -> str:
        return function_name(self.bwd)

    def __call__(self, *residuals_and_cotangents: Any) -> list[Any]:
        dims = self.forward.out_dims
        assert dims is not None, "a backward pass runs after its forward pass"
        args, dims = _with_unbatched_placeholders(residuals_and_cotangents, dims)
        cotangents, cotangent_dims = self.trace.call(self.bwd, args, dims)
        return [
            _placed(cotangent, self.trace, dim, position)
            for cotangent, dim, position in zip(
                cotangents, cotangent_dims, self.forward.dims, strict=True
            )
        ]


# ---- symbolic zeros and float0 ----


def _is_symbolic_zero(value: Any) -> bool:
    """Returns whether a value is a symbolic zero of differentiation."""
    return hasattr(value, "aval") and not isinstance(value, Array)


def _is_float0(value: Any) -> bool:
    return value.__class__ is np.ndarray and value.dtype == dtypes.float0


def _with_unbatched_placeholders(
    values: Sequence[Any], dims: Sequence[BatchDim]
) -> tuple[list[Any], list[BatchDim]]:
    """Removes the batch dimensions of symbolic zeros and ``float0`` arrays.

    Neither holds data, so the examples can share them.

    Returns:
      The values, and their batch dimensions.
    """
    values, dims = list(values), list(dims)
    for position, (value, dim) in enumerate(zip(values, dims, strict=True)):
        if dim is None:
            continue
        if _is_symbolic_zero(value):
            values[position] = type(value)(unbatched_aval(value.aval, dim))
            dims[position] = None
        elif _is_float0(value):
            shape = value.shape
            values[position] = np.zeros((*shape[:dim], *shape[dim + 1 :]), dtypes.float0)
            dims[position] = None
    return values, dims


def _placed(value: Any, trace: BatchTrace, dim: BatchDim, position: BatchDim) -> Any:
    """Returns a tangent or cotangent with its batch dimension at ``position``.

    If ``position`` is None, sums over the batch dimension. Returns None unchanged: it is the
    cotangent of a constant that a function closes over.
    """
    if dim == position or value is None:
        return value
    if position is None:
        assert dim is not None
        return lax.reduce_sum(value, (dim,))
    if _is_symbolic_zero(value):
        return type(value)(batched_aval(value.aval, position, trace.axis))
    if _is_float0(value):
        shape = shape_of(value)
        return np.zeros((*shape[:position], trace.axis.size, *shape[position:]), dtypes.float0)
    return materialize(value, trace.axis.size, dim, position)
