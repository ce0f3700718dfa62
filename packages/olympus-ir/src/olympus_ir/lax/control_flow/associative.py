# SPDX-License-Identifier: Apache-2.0
"""`associative_scan`: partial results of an associative operation, in logarithmic depth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...diagnostics.traceback_filtering import api_boundary
from ...programs.primitives import Primitive
from ...programs.staging import trace_to_closed
from ...programs.tracing import is_constant_dim
from ...trees import pytrees
from ...types.annotations import ArrayLike
from ...types.avals import get_aval
from ..core.axes import canonical_axis
from ..core.values import as_array
from ..elementwise.arithmetic import add, add_p, max_p, min_p, mul_p
from ..elementwise.logic import bitwise_or
from ..indexing.slicing import slice_in_dim
from ..reductions import cummax_p, cummin_p, cumprod_p, cumsum_p
from ..shaping.rearrangement import concatenate, pad, rev

# Operations whose partial results are an operation of their own.
_CUMULATIVE = {add_p: cumsum_p, mul_p: cumprod_p, max_p: cummax_p, min_p: cummin_p}

# Partial results of fewer elements are combined in pairs.
_SMALLEST = 1024


@api_boundary
def associative_scan(
    fn: Callable[[Any, Any], Any], elems: ArrayLike, reverse: bool = False, axis: int = 0
) -> Any:
    """Returns all partial results of an associative operation along a dimension.

    Element ``i`` of the result combines the elements up to ``i``. Elements are combined in pairs,
    so the number of steps grows with the logarithm of the number of elements (G. E. Blelloch,
    Prefix sums and their applications, 1990). Sums, products and extremes of many elements are
    `cumsum`, `cumprod`, `cummax` and `cummin`, which may add in another order.

    Args:
      fn: an associative operation on two pytrees of the structure of ``elems``. It is applied to
        many elements along ``axis`` at once, and may be traced once more.
      elems: an array, or a pytree of arrays of the same size along ``axis``.
      reverse: whether to go from the last element to the first.
      axis: the dimension of the elements.

    Returns:
      A pytree of the structure and shapes of ``elems``.

    Raises:
      TypeError: if ``fn`` is not callable.
      ValueError: if sizes along ``axis`` differ.
      NotImplementedError: if the size along ``axis`` is symbolic.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import lax
      >>> associative_scan(lax.add, np.arange(5))
      Array([ 0,  1,  3,  6, 10], dtype=int32)
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn argument should be callable.")
    leaves, tree = pytrees.tree_flatten(elems)
    if not leaves:
        return elems
    axis = canonical_axis(axis, get_aval(leaves[0]).ndim)
    shapes = [get_aval(leaf).shape for leaf in leaves]
    size = shapes[0][axis]
    if any(len(shape) <= axis or shape[axis] != size for shape in shapes):
        raise ValueError(
            "Array inputs to associative_scan must have the same "
            f"{f'size along dimension {axis}' if axis else 'first dimension'}. (saw: {shapes})"
        )

    def combine(first: list[Any], second: list[Any]) -> list[Any]:
        result = fn(pytrees.tree_unflatten(tree, first), pytrees.tree_unflatten(tree, second))
        return pytrees.tree_leaves(result)

    if not is_constant_dim(size):
        raise NotImplementedError(
            f"associative scan over axis of non-constant size: {size}. Use lax.scan, whose number "
            "of steps may be symbolic."
        )
    cumulative = _cumulative_operation(combine, leaves, axis)
    if cumulative is not None:
        results = [cumulative.bind(leaves[0], axis=axis, reverse=bool(reverse))]
    else:
        results = combined_in_pairs(combine, leaves, axis=axis, reverse=reverse)
    return pytrees.tree_unflatten(tree, results)


def combined_in_pairs(
    combine: Callable[[list[Any], list[Any]], list[Any]],
    elems: list[Any],
    *,
    axis: int,
    reverse: bool,
) -> list[Any]:
    """Returns all partial results of an operation on lists of arrays, in logarithmic depth."""
    if reverse:
        elems = [rev(elem, (axis,)) for elem in elems]
    results = _partial_results(combine, elems, get_aval(elems[0]).shape[axis], axis)
    return [rev(result, (axis,)) for result in results] if reverse else results


def _cumulative_operation(
    combine: Callable[[list[Any], list[Any]], list[Any]], elems: list[Any], axis: int
) -> Primitive | None:
    """Returns the primitive that computes the partial results, if the operation has one."""
    aval = get_aval(elems[0])
    if len(elems) > 1 or aval.dtype.kind not in "iuf" or not _is_large(aval.shape):
        return None
    shape = (*aval.shape[:axis], aval.shape[axis] // 2, *aval.shape[axis + 1 :])
    half = aval.update(shape=shape, weak_type=False)
    try:
        program = trace_to_closed(lambda x, y: combine([x], [y]), (half, half)).jaxpr
    except TypeError:  # the operation needs concrete values, or refuses these operands
        return None
    if len(program.eqns) != 1:
        return None
    (equation,) = program.eqns
    is_plain = (
        len(equation.invars) == 2
        and set(equation.invars) == set(program.invars)
        and list(equation.outvars) == list(program.outvars)
        and equation.outvars[0].aval.dtype == aval.dtype
    )
    return _CUMULATIVE.get(equation.primitive) if is_plain else None


def _is_large(shape: Sequence[Any]) -> bool:
    return all(map(is_constant_dim, shape)) and math.prod(shape) >= _SMALLEST


def _partial_results(
    combine: Callable[[list[Any], list[Any]], list[Any]], elems: list[Any], size: int, axis: int
) -> list[Any]:
    if size < 2:
        return [as_array(value) for value in elems]

    def every_other(values: list[Any], start: int, stop: int) -> list[Any]:
        return [slice_in_dim(value, start, stop, 2, axis) for value in values]

    def part(values: list[Any], start: int, stop: int) -> list[Any]:
        return [slice_in_dim(value, start, stop, 1, axis) for value in values]

    # Combine neighbors in pairs. The partial results of the pairs are the results at odd
    # positions.
    pairs = combine(every_other(elems, 0, size - 1), every_other(elems, 1, size))
    num_pairs = size // 2
    odd = _partial_results(combine, pairs, num_pairs, axis)
    # A result at an even position combines the preceding result with one more element.
    before = part(odd, 0, num_pairs - 1) if size % 2 == 0 else odd
    even = combine(before, every_other(elems, 2, size))
    even = [
        concatenate([first, rest], axis)
        for first, rest in zip(part(elems, 0, 1), even, strict=True)
    ]
    return [_interleaved(a, b, axis) for a, b in zip(even, odd, strict=True)]


def _interleaved(even: Any, odd: Any, axis: int) -> Any:
    """Interleaves two arrays along an axis. The first may have one element more."""
    aval, odd_aval = get_aval(even), get_aval(odd)
    one_more = aval.shape[axis] - odd_aval.shape[axis]
    zero = np.zeros((), aval.dtype)

    def spread(value: Any, low: int, high: int) -> Any:
        padding = [(0, 0, 0)] * aval.ndim
        padding[axis] = (low, high, 1)
        return pad(value, zero, padding)

    join = bitwise_or if aval.dtype == np.bool_ else add
    return join(spread(even, 0, 1 - one_more), spread(odd, 1, one_more))
