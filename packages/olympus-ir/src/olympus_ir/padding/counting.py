# SPDX-License-Identifier: Apache-2.0
"""Sizes that depend on the elements of an array: the numbers of true elements of masks.

While a function is traced in the context `counted_sizes`, `positions_of_true` returns an array
whose size is a new symbolic dimension. The padded evaluation of the program counts the elements.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from .. import lax
from ..programs.olympuspr import Equation, Literal
from ..programs.primitives import Primitive
from ..programs.staging import StagingTrace
from ..programs.tracing import current
from ..symbolic.scopes import SymbolicScope
from ..symbolic.specifications import symbolic_shape
from ..types.avals import ShapedArray, get_aval
from .evaluation import Site, padding_rules

__all__ = [
    "MappedMaskError",
    "counted_sizes",
    "positions_of_true",
    "refuse_mapped_mask",
    "true_positions_p",
]


# Maps a boolean vector to the positions of its true elements, in increasing order. The parameter
# ``size``, a dimension variable, stands for the number of true elements. Like every dimension
# variable, ``size`` counts as at least one in comparisons, so functions may index the result. The
# number may still be zero at run time.
true_positions_p = Primitive.declare("true_positions", family="counting")


@true_positions_p.def_abstract_eval
def _positions(mask: ShapedArray, *, size: Any) -> ShapedArray:
    return ShapedArray.varying((size,), np.dtype(np.int32), vma=mask.vma)


class MappedMaskError(NotImplementedError):
    """Error for a mask that selects different numbers of elements in the examples of `vmap`.

    Attributes:
      by_example: a wrapper of the function that `vmap` maps. The wrapped function counts the true
        elements of each example's mask, and computes with padded arrays. None if there is no such
        wrapper.
    """

    def __init__(self, by_example: Callable[..., Any] | None) -> None:
        super().__init__(
            "vmap inside of a `masked` function maps over a mask, so examples select different "
            "numbers of elements. Return sums or arrays of fixed sizes from the mapped function, "
            "or apply vmap to a masked function: olympus.vmap(olympus.masked(f))"
        )
        self.by_example = by_example


class _State(threading.local):
    """The state of `counted_sizes` in one thread.

    ``scope`` is the scope of new dimensions. It is None outside of `counted_sizes`.
    """

    scope: SymbolicScope | None = None
    by_example: Callable[..., Any] | None = None
    # Pairs of a mask and the positions of its true elements.
    counted: Sequence[tuple[Any, Any]] = ()


_state = _State()


@contextlib.contextmanager
def counted_sizes(
    scope: SymbolicScope, by_example: Callable[..., Any] | None = None
) -> Iterator[None]:
    """Context manager for tracing functions that select elements of arrays by masks.

    While the context is active, the size of a selection is a new symbolic dimension. It stands for
    the number of true elements of the mask.

    Args:
      scope: the scope to which the new dimensions are added.
      by_example: a wrapper of functions that `vmap` maps over masks while the context is active.
        The wrapped function counts the true elements of each example's mask, and computes with
        padded arrays. None if such functions are not supported.
    """
    before = _state.scope, _state.counted, _state.by_example, current.counts_sizes
    _state.scope, _state.counted, _state.by_example = scope, [], by_example
    current.counts_sizes = True
    try:
        yield
    finally:
        _state.scope, _state.counted, _state.by_example, current.counts_sizes = before


def refuse_mapped_mask() -> NoReturn:
    """Raises `MappedMaskError`, because a mask differs between examples."""
    raise MappedMaskError(_state.by_example)


def positions_of_true(mask: Any) -> Any:
    """Returns the positions of the true elements of a traced Boolean vector, in increasing order.

    Two masks that result from equal operations on equal values have the same size variable, so
    ``x[x > 0] * y[x > 0]`` is a product of arrays of the same size. The function must be called in
    the context `counted_sizes`.
    """
    scope = _state.scope
    assert scope is not None, "positions_of_true must be called in the context counted_sizes"
    for other, positions in _state.counted:
        if _are_alike(mask, other):
            return positions
    (length,) = get_aval(mask).shape
    name = f"count{len(scope.constraints) + 1}"
    scope.assume(f"{name} <= {length}")
    (size,) = symbolic_shape(name, scope=scope)
    positions = true_positions_p.bind(mask, size=size)
    _state.counted = [*_state.counted, (mask, positions)]
    return positions


def _are_alike(mask: Any, other: Any) -> bool:
    """Returns whether two tracers of one trace are results of equal operations on equal values."""
    if mask is other:
        return True
    trace = mask._trace
    if other._trace is not trace or not isinstance(trace, StagingTrace):
        return False
    sources = {var: equation for equation in trace.equations for var in equation.outvars}
    return _are_alike_in(sources, mask.atom, other.atom)


def _are_alike_in(sources: Mapping[Any, Equation], atom: Any, other: Any) -> bool:
    if isinstance(atom, Literal) or isinstance(other, Literal):
        if not (isinstance(atom, Literal) and isinstance(other, Literal)):
            return False
        return atom.aval == other.aval and bool(np.all(atom.val == other.val))
    if atom is other:
        return True
    first, second = sources.get(atom), sources.get(other)
    return (
        first is not None
        and second is not None
        and first.primitive is second.primitive
        and not first.effects
        and first.params == second.params
        and first.outvars.index(atom) == second.outvars.index(other)
        and len(first.invars) == len(second.invars)
        and all(
            _are_alike_in(sources, *pair) for pair in zip(first.invars, second.invars, strict=True)
        )
    )


@padding_rules.define(true_positions_p)
def _count(site: Site, mask: Any, *, size: Any) -> Any:
    lengths, (aval,) = site.lengths, site.operands
    mask = lengths.filled(mask, aval, False)
    total = lax.reduce_sum(lax.convert_element_type(mask, np.int32), (0,))
    (name,) = size.variables()
    lengths.variables[name] = total
    # The k-th true element, counted from zero, writes its position to element k of the result.
    capacity = lengths.capacity(size)
    positions = lax.sub(lax.cumsum(lax.convert_element_type(mask, np.int32)), np.int32(1))
    positions = lax.select(mask, positions, lax.full_like(positions, capacity))
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    return lax.scatter(
        lax.full((capacity,), 0, np.int32),
        lax.expand_dims(positions, (1,)),
        lax.iota(np.int32, mask.shape[0]),
        numbers,
        mode="drop",
    )
