# SPDX-License-Identifier: Apache-2.0
"""NumPy's indexing ``x[...]``.

Static integers and slices become slices of the array. Traced integers become dynamic slices. Index
arrays become a gather. An eager call is one call of a compiled program.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.traceback_filtering import filter_exception
from olympus_ir.lax.core.sizes import is_at_most
from olympus_ir.lax.core.values import as_array
from olympus_ir.programs.staging import StagingTrace
from olympus_ir.programs.tracing import current, evaluation_trace, is_constant_dim
from olympus_ir.settings.config_flags import check_static_indices
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.records import Record

from ..core.compilation import compiled
from ..core.promotion import convert, ensure_array, spread
from .parsing import (
    ARRAY,
    COMPUTED,
    FIXED,
    FLAG,
    GAP,
    NEW,
    PLACE,
    SLICE,
    SPAN,
    WINDOW,
    Layout,
    check_fixed_indices,
    parse,
)

__all__ = ["GatherPlan", "gather_plan", "getitem", "take_at", "traced_getitem"]

_int32 = np.dtype(np.int32)
_int64 = np.dtype(np.int64)
_PROMISE = lax.GatherScatterMode.PROMISE_IN_BOUNDS
_CLIP = lax.GatherScatterMode.CLIP


# ---- indexing of arrays and tracers ----


def getitem(self: Any, index: Any) -> Any:
    """Returns the elements at an index; the nearest element for an index out of range."""
    if current.trace is not evaluation_trace:
        return traced_getitem(self, index)
    try:
        if _are_checked:
            check_fixed_indices(self.shape, index)
        if index.__class__ is int:
            shape = self.shape
            if shape and shape[0]:
                return _element(self, index + shape[0] if index < 0 else index)
        layout, operands = parse(self.shape, index, fixed=False)
        return taken(self, layout, operands)
    except Exception as error:  # a wrapper would cost one more call for each index
        filter_exception(error)
        raise


def traced_getitem(self: Any, index: Any) -> Any:
    """Indexes as `getitem` does, while a function is being traced."""
    if _are_checked:
        check_fixed_indices(self.shape, index)
    layout, operands = parse(self.shape, index, fixed=is_staging())
    return take_at(self, layout, operands)


# Whether the flag ``check_static_indices`` requires static integers to be in range.
_are_checked = False


def _set_checked(value: bool) -> None:
    global _are_checked
    _are_checked = value


check_static_indices.add_global_hook(_set_checked)


def is_staging() -> bool:
    """Returns whether an olympuspr is being recorded, directly or under other transformations."""
    trace: Any = current.trace
    while trace is not None:
        if trace.__class__ is StagingTrace:
            return True
        trace = trace.parent
    return False


def _element_at(x: Any, position: Any) -> Any:
    """Returns the slice at one index of the first dimension."""
    return take_at(x, ((PLACE,), *((SLICE, 0, size, 1) for size in x.shape[1:])), [position])


_element = compiled(_element_at, inline=True, name="getitem")


# ---- the program of an index ----


def take_at(
    x: Any,
    layout: Layout,
    operands: Any,
    mode: Any = None,
    fill_value: ArrayLike | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    wrap_negative_indices: bool = True,
) -> Any:
    """Returns the elements of an array at a parsed index."""
    x = ensure_array(x)
    mode = lax.GatherScatterMode.from_any("promise_in_bounds" if mode is None else mode)
    if mode is _PROMISE or mode is _CLIP:
        kinds = {entry[0] for entry in layout}
        if (
            ARRAY not in kinds
            and FLAG not in kinds
            and wrap_negative_indices
            and _are_slices(x.shape, layout)
        ):
            return _sliced(x, layout, list(operands))
    plan = gather_plan(x.shape, layout, list(operands), wrap_negative_indices)
    if 0 in plan.shape:
        if _is_plain(x):
            result = lax.full(plan.shape, np.zeros((), x.dtype))
            result = convert(result, x.dtype, getattr(x, "weak_type", False))
            return lax.expand_dims(result, plan.new_axes) if plan.new_axes else result
    elif 0 in x.shape:
        raise IndexError(
            "an array of indices is out of bounds for an axis with size 0, of an array of shape "
            f"{x.shape}"
        )
    result = lax.gather(
        x,
        plan.indices,
        lax.GatherDimensionNumbers(plan.window_dims, plan.collapsed_dims, plan.indexed_dims),
        plan.sizes,
        unique_indices=plan.in_order or unique_indices,
        indices_are_sorted=plan.in_order or indices_are_sorted,
        mode=mode,
        fill_value=fill_value,
    )
    if plan.reversed_dims:
        result = lax.rev(result, plan.reversed_dims)
    return lax.expand_dims(result, plan.new_axes) if plan.new_axes else result


def _is_plain(x: Any) -> bool:
    return not dtypes.is_extended(x.dtype)


taken = compiled(
    take_at,
    (
        "layout",
        "mode",
        "fill_value",
        "unique_indices",
        "indices_are_sorted",
        "wrap_negative_indices",
    ),
    inline=True,
    name="getitem",
)


# ---- slices ----


def _sliced(x: Any, layout: Layout, operands: list[Any]) -> Any:
    """Returns the elements at an index that has only integers and slices."""
    kinds = {entry[0] for entry in layout}
    removed: list[int] = []
    reversed_dims: list[int] = []
    new_axes: list[int] = []
    axis = result_axis = 0
    for entry in layout:
        kind = entry[0]
        if kind == GAP:
            continue
        if kind == NEW:
            new_axes.append(result_axis)
            result_axis += 1
            continue
        if kind in (SLICE, WINDOW, SPAN):
            if entry[-1] < 0:
                reversed_dims.append(axis)
            result_axis += 1
        else:
            removed.append(axis)
        axis += 1
    if kinds & {PLACE, COMPUTED, WINDOW, SPAN} or not _are_within(x.shape, layout):
        x = _dynamic_slice(x, layout, operands)
    else:
        x = _static_slice(x, layout)
    if reversed_dims:
        x = lax.rev(x, tuple(reversed_dims))
    if removed:
        x = lax.squeeze(x, tuple(removed))
    if new_axes:
        x = lax.expand_dims(x, tuple(new_axes))
    return as_array(x)


def _static_slice(x: Any, layout: Layout) -> Any:
    starts, limits, strides = [], [], []
    entries = [entry for entry in layout if entry[0] not in (NEW, GAP)]
    for entry in entries:
        if entry[0] == FIXED:
            start, count, stride = entry[1], 1, 1
        else:
            _, start, count, step = entry
            stride = _magnitude(step)
        starts.append(start)
        limits.append(start + (count - 1) * stride + 1 if count else start)
        strides.append(stride)
    if limits == list(x.shape) and not any(starts) and set(strides) <= {1}:
        return x
    return lax.slice_p.bind(
        x,
        start_indices=tuple(starts),
        limit_indices=tuple(_limits_to_edge(x.shape, starts, limits, strides)),
        strides=None if set(strides) <= {1} else tuple(strides),
    )


def _are_slices(shape: tuple, layout: Layout) -> bool:
    """Returns whether all symbolic slices are known to be within the array and not empty."""
    entries = [entry for entry in layout if entry[0] not in (NEW, GAP)]
    for entry, size in zip(entries, shape, strict=True):
        if entry[0] == SLICE and not all(type(part) is int for part in (size, *entry[1:])):
            _, start, count, step = entry
            last = start + (count - 1) * _magnitude(step)
            if not (is_at_most(0, start) and is_at_most(last + 1, size)):
                return False
            if not (is_constant_dim(count) or is_at_most(1, count)):
                return False
    return True


def _are_within(shape: tuple, layout: Layout) -> bool:
    """Returns whether all static integers are known to be in range."""
    entries = [entry for entry in layout if entry[0] not in (NEW, GAP)]
    return all(
        is_at_most(0, entry[1]) and is_at_most(entry[1] + 1, size)
        for entry, size in zip(entries, shape, strict=True)
        if entry[0] == FIXED
    )


def _magnitude(step: Any) -> Any:
    return -step if step < 0 else step


def _limits_to_edge(shape: tuple, starts: Any, limits: Any, strides: Any) -> list[int]:
    """Returns the limits of slices, replaced by the size of the dimension where that is equivalent.

    The limit of a strided slice is equivalent to the size if no step falls between limit and size.
    """
    return [
        size if stride != 1 and is_at_most(size + 1, limit + stride) else limit
        for size, limit, stride in zip(shape, limits, strides, strict=True)
    ]


def _dynamic_slice(x: Any, layout: Layout, operands: list[Any]) -> Any:
    entries = [entry for entry in layout if entry[0] not in (NEW, GAP)]
    remaining = iter(operands)
    dtype = _index_dtype(x.shape, operands)
    starts, sizes, strides = [], [], []
    for entry, size in zip(entries, x.shape, strict=True):
        kind = entry[0]
        stride, count = 1, 1
        if kind == FIXED:
            start = lax.size_array(entry[1], dtype)
        elif kind == PLACE:
            start = convert(next(remaining), dtype)
        elif kind == COMPUTED:
            start = _from_start(convert(next(remaining), dtype), size, dtype)
        elif kind == SPAN:
            start = _from_start(convert(next(remaining), dtype), size, dtype)
            count, stride = entry[1:]
        elif kind == SLICE:
            start, count = lax.size_array(entry[1], dtype), entry[2]
            stride = _magnitude(entry[3])
        else:
            start, count, stride = convert(next(remaining), dtype), entry[1], abs(entry[2])
        starts.append(start)
        sizes.append((count - 1) * stride + 1 if count else 0)
        strides.append(stride)
    x = lax.dynamic_slice_p.bind(x, *starts, slice_sizes=tuple(sizes))
    if set(strides) <= {1}:
        return x
    return lax.slice(x, (0,) * len(sizes), sizes, strides)


def _index_dtype(shape: tuple, operands: Any) -> Any:
    wide = any(getattr(operand, "dtype", _int32) == _int64 for operand in operands)
    too_large = any(type(size) is int and size > 0x7FFFFFFF for size in shape)
    return _int64 if (wide or too_large) and dtypes.default_int_dtype() == _int64 else _int32


def _from_start(index: Any, size: int, dtype: Any, wrap: bool = True) -> Any:
    """Converts negative indices, which count from the end, to indices from the start."""
    if isinstance(index, np.ndarray) and is_constant_dim(size):
        index = index.astype(np.int64)
        return (
            np.where(index < 0, index + size, index).astype(dtype) if wrap else index.astype(dtype)
        )
    signed = dtypes.issubdtype(index.dtype, np.signedinteger)
    is_weak = index.dtype == dtype and getattr(index, "weak_type", False)
    if not is_weak:
        index = convert(index, dtype)
    if wrap and signed:
        zero, end = (0, size) if is_weak else (np.zeros((), dtype), lax.size_array(size, dtype))
        index = lax.select_n(lax.lt(index, zero), index, lax.add(index, end))
    return convert(index, dtype) if is_weak else index


# ---- gathering ----


class GatherPlan(Record):
    """An index in the form that `gather` and `scatter` need: index vectors and dimension numbers.

    Attributes:
      indices: index vectors, in the last dimension of an array of integers.
      window_dims: the dimensions of the gathered array that run within a window.
      collapsed_dims: the array's dimensions that have no dimension of their own in a window.
      indexed_dims: the array's dimension that each component of an index vector indexes.
      sizes: the sizes of a window.
      shape: the shape of the gathered array.
      reversed_dims: dimensions of the gathered array that have to be reversed afterwards.
      new_axes: dimensions of size one that have to be added after the reversal.
      in_order: whether indices are known to be sorted and unique.
    """

    indices: Any
    window_dims: tuple[int, ...]
    collapsed_dims: tuple[int, ...]
    indexed_dims: tuple[int, ...]
    sizes: tuple[int, ...]
    shape: tuple[int, ...]
    reversed_dims: tuple[int, ...]
    new_axes: tuple[int, ...]
    in_order: bool

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of the indexed part, with its new axes."""
        shape = list(self.shape)
        for axis in self.new_axes:
            shape.insert(axis, 1)
        return tuple(shape)


class _Planner:
    """Collects, entry by entry, the result's dimensions and the components of index vectors."""

    def __init__(self, shape: tuple, layout: Layout, operands: list[Any], wrap: bool) -> None:
        self.shape = shape
        self.layout = layout
        self.operands = iter(operands)
        self.wrap = wrap
        self.dtype = _index_dtype(shape, operands)
        self.collapsed: list[int] = []
        self.sizes: list[int] = []
        # The result's dimensions in order. Each is ("arrays",), ("window", size, backwards),
        # ("stride", size, backwards, axis) or ("new",).
        self.dimensions: list[tuple] = []
        # For each component of the index vectors: the dimension of the array, the integers, and the
        # dimension of the result along which the integers run: "arrays", a "stride" tuple, or None.
        self.components: list[tuple[int, Any, Any]] = []
        arrays = [operand for operand, kind in self._operand_kinds(operands) if kind == ARRAY]
        flags = [(entry[1],) for entry in layout if entry[0] == FLAG]
        self.has_arrays = bool(arrays or flags)
        self.array_shape = _broadcast_arrays([array.shape for array in arrays] + flags)

    def _operand_kinds(self, operands: list[Any]) -> list[tuple[Any, int]]:
        with_operand = (PLACE, COMPUTED, WINDOW, SPAN, ARRAY)
        kinds = [entry[0] for entry in self.layout if entry[0] in with_operand]
        return list(zip(operands, kinds, strict=True))

    def _advanced(self, entry: tuple) -> bool:
        """Returns whether an entry is an index array, or a scalar among index arrays."""
        kinds = (ARRAY, FLAG, FIXED, PLACE, COMPUTED) if self.has_arrays else ()
        return entry[0] in kinds

    def run(self) -> None:
        positions = [p for p, entry in enumerate(self.layout) if self._advanced(entry)]
        adjacent = not positions or positions[-1] - positions[0] + 1 == len(positions)
        if positions and not adjacent:
            self.dimensions.append(("arrays",))
        axis = 0
        for position, entry in enumerate(self.layout):
            kind = entry[0]
            if adjacent and positions and position == positions[0]:
                self.dimensions.append(("arrays",))
            if kind == NEW:
                self.dimensions.append(("new",))
            elif kind in (SLICE, WINDOW, SPAN):
                self._add_slice(axis, entry)
                axis += 1
            elif kind not in (FLAG, GAP):
                self._add_place(axis, entry)
                axis += 1

    def _add_place(self, axis: int, entry: tuple) -> None:
        kind, size = entry[0], self.shape[axis]
        self.collapsed.append(axis)
        self.sizes.append(1)
        if kind == FIXED:
            self.components.append((axis, lax.size_array(entry[1], self.dtype), None))
        elif kind == PLACE:
            self.components.append((axis, convert(next(self.operands), self.dtype), None))
        else:
            index = _from_start(next(self.operands), size, self.dtype, self.wrap)
            self.components.append((axis, index, "arrays" if kind == ARRAY else None))

    def _add_slice(self, axis: int, entry: tuple) -> None:
        if entry[0] == SLICE:
            _, start, count, step = entry
            fits = _are_slices(self.shape[axis : axis + 1], (entry,))
            start = lax.size_array(start, self.dtype)
        else:
            _, count, step = entry
            fits = True
            start = convert(next(self.operands), self.dtype)
            if entry[0] == SPAN:
                start = _from_start(start, self.shape[axis], self.dtype, self.wrap)
        stride, backwards = _magnitude(step), step < 0
        if stride == 1 and fits:
            if entry[0] != SLICE or count != self.shape[axis]:
                self.components.append((axis, start, None))
            self.sizes.append(count)
            self.dimensions.append(("window", count, backwards))
            return
        self.collapsed.append(axis)
        self.sizes.append(1)
        dimension = ("stride", count, backwards, axis)
        if isinstance(start, np.ndarray) and is_constant_dim(count) and is_constant_dim(stride):
            positions: Any = start + stride * np.arange(count, dtype=self.dtype)
        else:
            steps = lax.mul(lax.size_array(stride, self.dtype), lax.iota(self.dtype, count))
            positions = lax.add(start, steps)
        self.components.append((axis, positions, dimension))
        self.dimensions.append(dimension)

    def plan(self) -> GatherPlan:
        """Returns the plan of the entries read so far."""
        shape: list[int] = []  # the shape of the gathered array
        batch: list[int] = []  # the batch dimensions of the index vectors
        window_dims, reversed_dims, new_axes = [], [], []
        # Maps "arrays" and each "stride" tuple to the first batch dimension along which it runs.
        where: dict[Any, int] = {}
        for dimension in self.dimensions:
            kind = dimension[0]
            if kind == "new":
                new_axes.append(len(shape) + len(new_axes))
                continue
            if kind == "arrays":
                where["arrays"] = len(batch)
                batch += self.array_shape
                shape += self.array_shape
                continue
            if dimension[2]:
                reversed_dims.append(len(shape))
            if kind == "window":
                window_dims.append(len(shape))
            else:
                where[dimension] = len(batch)
                batch.append(dimension[1])
            shape.append(dimension[1])
        return GatherPlan(
            indices=self._index_vectors(tuple(batch), where),
            window_dims=tuple(window_dims),
            collapsed_dims=tuple(self.collapsed),
            indexed_dims=tuple(component[0] for component in self.components),
            sizes=tuple(self.sizes),
            shape=tuple(shape),
            reversed_dims=tuple(reversed_dims),
            new_axes=tuple(new_axes),
            in_order=not self.has_arrays,
        )

    def _index_vectors(self, batch: tuple, where: dict[Any, int]) -> Any:
        if not self.components:
            return np.zeros((*batch, 0), self.dtype)
        columns = []
        for _, values, along in self.components:
            first = 0
            if along is not None:
                first = where[along]
                if along == "arrays":
                    first += len(self.array_shape) - values.ndim
            dims = tuple(range(first, first + values.ndim))
            columns.append(_column(values, (*batch, 1), dims))
        if all(isinstance(column, np.ndarray) for column in columns):
            return np.concatenate(columns, axis=-1)
        return lax.concatenate(columns, len(batch))


def _column(values: Any, shape: tuple, dims: tuple) -> Any:
    """Broadcasts the values of one component over the batch of index vectors."""
    if isinstance(values, np.ndarray) and values.ndim and all(map(is_constant_dim, shape)):
        sizes = [1] * len(shape)
        for size, dim in zip(values.shape, dims, strict=True):
            sizes[dim] = size
        return np.broadcast_to(values.reshape(sizes), shape)
    return lax.broadcast_in_dim(values, shape, dims)


def _broadcast_arrays(shapes: list[tuple]) -> tuple[int, ...]:
    if not shapes:
        return ()
    try:
        return lax.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            "arrays used as indices must be of shapes that broadcast together. Incompatible "
            f"shapes for broadcasting: shapes={shapes}"
        ) from None


def gather_plan(
    shape: tuple, layout: Layout, operands: list[Any], wrap_negative_indices: bool = True
) -> GatherPlan:
    """Computes the index vectors and dimension numbers of a parsed index."""
    planner = _Planner(shape, layout, operands, wrap_negative_indices)
    planner.run()
    return planner.plan()


def spread_to(values: Any, shape: tuple, name: str) -> Any:
    """Broadcasts values to the shape of an indexed part.

    Raises:
      ValueError: if the values do not broadcast to this shape.
    """
    old_shape = np.shape(values)
    if old_shape == shape:
        return values
    if len(old_shape) > len(shape):
        extra = old_shape[: len(old_shape) - len(shape)]
        if any(size != 1 for size in extra):
            raise ValueError(
                f"{name}: values of shape {old_shape} do not fit the shape {shape} of the indexed "
                "part: Cannot broadcast to shape with fewer dimensions"
            )
        return spread_to(lax.reshape(values, old_shape[len(extra) :]), shape, name)
    for size, target in zip(reversed(old_shape), reversed(shape), strict=False):
        if size not in (1, target):
            raise ValueError(
                f"{name}: values of shape {old_shape} do not fit the shape {shape} of the indexed "
                "part: Incompatible types for broadcasting: input "
                f"type={values.dtype}{list(old_shape)} and requested "
                f"type={values.dtype}{list(shape)}"
            )
    return spread(values, shape)
