# SPDX-License-Identifier: Apache-2.0
"""Collectives: operations across a named axis of `vmap` or `shard_map`.

The name of an axis is any hashable value. A tuple names several axes. `psum`, `pmax` and `pmin`
also take positional axes (integers), along which they reduce the operand itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...programs.primitives import Primitive, instruction
from ...programs.tracing import current
from ...trees import pytrees
from ...types import dtypes
from ...types.annotations import PyTree
from ...types.arrays import Array
from ...types.avals import ShapedArray, get_aval
from ..core.axes import canonical_axis
from ..core.declarations import reduced_shape
from ..core.values import shape_of
from ..elementwise.arithmetic import add, div, mul
from ..elementwise.conversion import convert_dtype, convert_element_type
from ..indexing.slicing import dynamic_update_slice_in_dim
from ..shaping.broadcasting import expand_dims
from ..shaping.creation import full
from ..shaping.rearrangement import squeeze
from . import partial_sums
from .named_axes import (
    AxisName,
    Groups,
    axis_names,
    axis_size,
    checked_groups,
    group_size,
    is_positional,
    named_effects,
    psum_invariant_p,
    pvary,
)

__all__ = [
    "all_gather",
    "all_gather_p",
    "all_to_all",
    "all_to_all_p",
    "axis_index",
    "axis_index_p",
    "pbroadcast",
    "pbroadcast_p",
    "pcast",
    "pmax",
    "pmax_p",
    "pmean",
    "pmin",
    "pmin_p",
    "ppermute",
    "ppermute_p",
    "pshuffle",
    "psum",
    "psum_p",
    "psum_scatter",
    "pswapaxes",
    "reduce_scatter_p",
]


def _collective(name: str, **attributes: Any) -> Primitive:
    return instruction(name, family="collectives", **attributes)


psum_p = _collective("psum")
pmax_p = _collective("pmax")
pmin_p = _collective("pmin")
axis_index_p = _collective("axis_index")
all_gather_p = _collective("all_gather")
reduce_scatter_p = _collective("reduce_scatter")
ppermute_p = _collective("ppermute")
pbroadcast_p = _collective("pbroadcast")
# Inferred types are not cached, because the type of a tiled result depends on the size of the named
# axis, which is not among the parameters.
all_to_all_p = _collective("all_to_all", cache_inference=False)

for _primitive in (
    psum_p,
    all_gather_p,
    reduce_scatter_p,
    ppermute_p,
    pbroadcast_p,
    all_to_all_p,
):
    _primitive.linear_in = True


# ---- axes ----


def axis_index(axis_name: AxisName) -> Array:
    """Returns the index of the current instance along a named axis.

    Args:
      axis_name: a name, or a tuple of names, the last of which varies fastest.

    Returns:
      An int32 scalar.

    Raises:
      NameError: if an axis is not bound.

    Example:
      >>> from olympus_ir.programs.make import make_olympuspr
      >>> make_olympuspr(lambda: axis_index("i"), axis_env=[("i", 4)])().out_avals
      [ShapedArray(int32[])]
    """
    if not isinstance(axis_name, tuple | list):
        current.axes.size(axis_name)
        return axis_index_p.bind(axis_name=axis_name)
    index: Any = np.int32(0)
    inner_size = 1
    for name in reversed(axis_name):
        index = add(index, mul(axis_index(name), np.int32(inner_size)))
        inner_size *= axis_size(name)
    return index


@axis_index_p.def_effectful_abstract_eval
def _axis_index_type(*, axis_name: AxisName) -> tuple[ShapedArray, frozenset]:
    varying = frozenset({axis_name}) & current.axes.varying
    return ShapedArray.varying((), np.int32, vma=varying), named_effects(axis_name)


# ---- reductions ----


def _reduction_type(
    operand: ShapedArray, *, axes: tuple, axis_index_groups: tuple | None
) -> tuple[ShapedArray, frozenset]:
    shape = reduced_shape("collective", operand, tuple(filter(is_positional, axes)))
    # Different groups have different results. Without groups, the results are equal along the axes.
    varying = operand.vma.difference(axes) if axis_index_groups is None else operand.vma
    # Weak types are kept only for values whose types track the axes along which they vary.
    weak_type = operand.weak_type and bool(operand.vma)
    return operand.update(shape=shape, weak_type=weak_type, vma=varying), named_effects(axes)


for _primitive in (psum_p, pmax_p, pmin_p):
    _primitive.spreads_varying = False
    _primitive.def_effectful_abstract_eval(_reduction_type)


def _reduce(
    primitive: Primitive,
    x: Any,
    axis_name: AxisName,
    groups: Groups,
    of_constant: Callable[[Any, int], Any] | None = None,
) -> Any:
    axes = axis_names(axis_name)
    positional = tuple(filter(is_positional, axes))
    named = tuple(axis for axis in axes if not is_positional(axis))
    if groups is not None and len(named) < len(axes):
        raise ValueError(f"axis_index_groups must be for named axes only, got the axes {axes}")
    groups_of_axis = checked_groups(groups, axes)
    for name in named:
        current.axes.size(name)

    def of_leaf(leaf: Any) -> Any:
        if not axes:
            return leaf
        if positional:
            reduced_shape(primitive.name, get_aval(leaf), positional)  # checks them
        if of_constant is not None and named == axes and not isinstance(leaf, Array | bool):
            size = axis_size(axes) if groups_of_axis is None else group_size(groups_of_axis, axes)
            return of_constant(leaf, size)
        if primitive is psum_p and get_aval(leaf).dtype == np.bool_:
            leaf = convert_element_type(leaf, np.int32)
        if named and current.axes.varying.issuperset(named):
            if primitive is psum_p and partial_sums.is_unreduced(leaf, named):
                return partial_sums.operation("psum")(leaf, named)
            leaf = pvary(leaf, named)
            if primitive is psum_p and named == axes and groups_of_axis is None:
                return psum_invariant_p.bind(leaf, axes=axes)
        return primitive.bind(leaf, axes=axes, axis_index_groups=groups_of_axis)

    return pytrees.tree_map(of_leaf, x)


def psum(x: PyTree, axis_name: AxisName, *, axis_index_groups: Groups = None) -> PyTree:
    """Returns the sum over a named axis.

    The sum of a constant, as in ``psum(1, "i")``, is computed during tracing, as the constant times
    the axis size. The result for a Python number is a Python number.

    Args:
      x: an array or a pytree of arrays. Booleans are summed as integers.
      axis_name: a name or a tuple of names; integers stand for dimensions of ``x``.
      axis_index_groups: groups of indices; if given, sums are taken within each group.

    Returns:
      A pytree of the structure, shapes and dtypes of ``x``; booleans become integers, and
      positional axes are removed.

    Raises:
      NameError: if an axis is not bound.

    Example:
      >>> from olympus_ir.programs.make import make_olympuspr
      >>> make_olympuspr(lambda: psum(1, "i"), axis_env=[("i", 4)])()
      { lambda ; . let  in (4:i32[],) }
    """
    return _reduce(psum_p, x, axis_name, axis_index_groups, lambda leaf, size: leaf * size)


def pmean(x: PyTree, axis_name: AxisName, *, axis_index_groups: Groups = None) -> PyTree:
    """Returns the mean over a named axis.

    Args:
      x: an array or a pytree of arrays.
      axis_name: a name or a tuple of names; integers stand for dimensions of ``x``.
      axis_index_groups: groups of indices; if given, each group is reduced separately.

    Returns:
      A pytree of the structure and shapes of ``x``.

    Raises:
      NameError: if an axis is not bound.

    Example:
      >>> from olympus_ir.programs.make import make_olympuspr
      >>> make_olympuspr(lambda: pmean(3, "i"), axis_env=[("i", 4)])()
      { lambda ; . let  in (3.0:f32[],) }
    """
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    axes = axis_names(axis_name)
    named = tuple(axis for axis in axes if not is_positional(axis))
    instances = psum(1, named, axis_index_groups=axis_index_groups)

    def mean(total: Any, leaf: Any) -> Any:
        shape = shape_of(leaf)
        size = instances * math.prod(shape[axis] for axis in axes if is_positional(axis))
        if not isinstance(total, Array):
            return total / size
        dtype = dtypes.to_inexact_dtype(total.dtype)
        if dtype != total.dtype:
            total = convert_element_type(total, dtype)
        return div(total, convert_dtype(size, dtype, weak_type=total.aval.weak_type))

    return pytrees.tree_map(mean, total, x)


def pmax(x: PyTree, axis_name: AxisName, *, axis_index_groups: Groups = None) -> PyTree:
    """Returns the elementwise maximum over a named axis.

    Args:
      x: an array or a pytree of arrays.
      axis_name: a name or a tuple of names; integers stand for dimensions of ``x``.
      axis_index_groups: groups of indices; if given, each group is reduced separately.

    Returns:
      A pytree of the structure, shapes and dtypes of ``x``.

    Raises:
      NameError: if an axis is not bound.

    Example:
      >>> import olympus
      >>> import olympus.numpy as jnp
      >>> olympus.vmap(lambda x: pmax(x, "i"), axis_name="i")(jnp.array([1, 5, 3]))
      Array([5, 5, 5], dtype=int32)
    """
    return _reduce(pmax_p, x, axis_name, axis_index_groups)


def pmin(x: PyTree, axis_name: AxisName, *, axis_index_groups: Groups = None) -> PyTree:
    """Returns the elementwise minimum over a named axis.

    Args:
      x: an array or a pytree of arrays.
      axis_name: a name or a tuple of names; integers stand for dimensions of ``x``.
      axis_index_groups: groups of indices; if given, each group is reduced separately.

    Returns:
      A pytree of the structure, shapes and dtypes of ``x``.

    Raises:
      NameError: if an axis is not bound.

    Example:
      >>> import olympus
      >>> import olympus.numpy as jnp
      >>> olympus.vmap(lambda x: pmin(x, "i"), axis_name="i")(jnp.array([1, 5, 3]))
      Array([1, 1, 1], dtype=int32)
    """
    return _reduce(pmin_p, x, axis_name, axis_index_groups)


# ---- gathering and scattering ----


@all_gather_p.def_effectful_abstract_eval
def _all_gather_type(
    operand: ShapedArray,
    *,
    all_gather_dimension: int,
    axis_index_groups: tuple | None,
    axis_name: tuple,
    axis_size: int,
    tiled: bool,
) -> tuple[ShapedArray, frozenset]:
    shape = list(operand.shape)
    if tiled:
        shape[all_gather_dimension] *= axis_size
    else:
        shape.insert(all_gather_dimension, axis_size)
    return operand.update(shape=tuple(shape)), named_effects(axis_name)


def all_gather(
    x: PyTree,
    axis_name: AxisName,
    *,
    axis_index_groups: Groups = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> PyTree:
    """Stacks the values of all instances along a named axis in a new dimension.

    Args:
      x: an array or a pytree of arrays.
      axis_name: a name or a tuple of names.
      axis_index_groups: groups of indices of equal size; if given, values are gathered within each
        group.
      axis: the position of the new dimension.
      tiled: whether to concatenate along the dimension ``axis`` instead of adding a dimension.
      to: the variation of the results over the axis: ``"varying"``; ``"invarying"`` for results
        that are known to be equal on all instances; ``"reduced"`` for results whose cotangents
        remain partial sums.

    Returns:
      A pytree of the structure of ``x``.

    Raises:
      NameError: if an axis is not bound.
      ValueError: if ``to`` is not one of these words.

    Example:
      >>> import olympus
      >>> import olympus.numpy as jnp
      >>> olympus.vmap(lambda x: all_gather(x, "i"), axis_name="i")(jnp.array([1, 5]))
      Array([[1, 5],
             [1, 5]], dtype=int32)
    """
    if to not in ("varying", "invarying", "reduced"):
        raise ValueError(
            f"Got unexpected `to` value {to!r} for all_gather. Allowed `to` values are: "
            "'varying', 'invarying' and 'reduced'."
        )
    names = axis_names(axis_name)
    groups = checked_groups(axis_index_groups, names)
    size = group_size(groups, names)
    if to == "invarying" and any(name in current.axes.varying for name in names):
        return _all_gather_invariant(x, names, groups, size, axis, tiled)

    def of_leaf(leaf: Any) -> Any:
        ndim = get_aval(leaf).ndim + (0 if tiled else 1)
        dimension = canonical_axis(axis, ndim)
        if to == "reduced":
            gather = partial_sums.operation("all_gather")
            return gather(_varying(leaf, names), names, dimension, size, bool(tiled))
        return all_gather_p.bind(
            _varying(leaf, names),
            all_gather_dimension=dimension,
            axis_index_groups=groups,
            axis_name=names,
            axis_size=size,
            tiled=bool(tiled),
        )

    return pytrees.tree_map(of_leaf, x)


def _all_gather_invariant(
    x: Any, names: tuple, groups: Groups, size: int, axis: int, tiled: bool
) -> Any:
    """Gathers by a sum, whose result is known to be equal on all instances."""
    if groups is not None:
        raise ValueError("all_gather(to='invarying') does not take axis_index_groups.")
    position = axis_index(names)

    def of_leaf(leaf: Any) -> Any:
        ndim = get_aval(leaf).ndim + (0 if tiled else 1)
        where = canonical_axis(axis, ndim)
        part = leaf if tiled else expand_dims(leaf, (where,))
        shape = list(get_aval(part).shape)
        count, shape[where] = shape[where], shape[where] * size
        start = mul(position, np.int32(count))
        dtype = get_aval(part).dtype
        whole = full(tuple(shape), 0, dtype)
        summed = psum(dynamic_update_slice_in_dim(whole, part, start, where), names)
        return convert_element_type(summed, dtype)  # sums of booleans are integers

    return pytrees.tree_map(of_leaf, x)


def pcast(x: PyTree, axis_name: AxisName, *, to: str) -> PyTree:
    """Changes the variation of values over named axes, without computing anything.

    Args:
      x: an array or a pytree of arrays.
      axis_name: a name or a tuple of names.
      to: ``"varying"``, for values that are replicated or reduced; ``"unreduced"``, for varying
        values, which become the terms of a sum over devices; ``"reduced"``, for replicated values,
        whose cotangents then remain the terms of a sum.

    Returns:
      A pytree of the structure of ``x``.

    Raises:
      ValueError: if ``to`` is unknown or a value does not have the variation that it requires.

    Example:
      >>> import olympus
      >>> from olympus import P
      >>> mesh = olympus.make_mesh((1,), ("i",))
      >>> f = olympus.shard_map(
      ...     lambda x: pcast(x, "i", to="varying"), mesh=mesh, in_specs=P(), out_specs=P("i")
      ... )
      >>> f(olympus.numpy.ones(2))
      Array([1., 1.], dtype=float32)
    """
    if to not in ("varying", "unreduced", "reduced"):
        raise ValueError(
            f"Got unexpected `to` value {to!r}. Allowed `to` values are: 'varying', 'unreduced' "
            "and 'reduced'."
        )
    if isinstance(axis_name, set | frozenset | list):
        raise TypeError(f"axis_name={axis_name} must be a tuple or a str. Got {axis_name}")
    names = axis_names(axis_name)
    layouts = [get_aval(leaf).layout for leaf in pytrees.tree_leaves(x)]
    if to != "varying" or any(layout is not None and layout.spec.reduced for layout in layouts):
        return partial_sums.operation("pcast")(x, names, to)
    for leaf in pytrees.tree_leaves(x):
        if get_aval(leaf).vma.intersection(names):
            raise ValueError(
                f"Unsupported pcast from=varying, to='varying': {get_aval(leaf).str_short(True)} "
                f"varies along {names} already"
            )
    return pvary(x, names)


def _varying(leaf: Any, names: tuple) -> Any:
    """Casts the operand of an exchange to be varying over the axes, if types track variation."""
    return pvary(leaf, names) if current.axes.varying else leaf


@reduce_scatter_p.def_effectful_abstract_eval
def _reduce_scatter_type(
    operand: ShapedArray,
    *,
    scatter_dimension: int,
    axis_index_groups: tuple | None,
    axis_name: tuple,
    axis_size: int,
    tiled: bool,
) -> tuple[ShapedArray, frozenset]:
    shape = list(operand.shape)
    size = shape[scatter_dimension]
    if tiled:
        if size % axis_size:
            raise ValueError(
                f"tiled reduce_scatter operand scatter dimension size {size} must be divisible by "
                f"shard_count {axis_size}: dimension {scatter_dimension} of "
                f"{operand.str_short(True)} is scattered"
            )
        shape[scatter_dimension] = size // axis_size
    else:
        if size != axis_size:
            raise ValueError(
                f"reduce_scatter operand scatter dimension size {size} must match shard count "
                f"{axis_size}: dimension {scatter_dimension} of {operand.str_short(True)} is "
                "scattered; pass tiled=True to divide it"
            )
        del shape[scatter_dimension]
    return operand.update(shape=tuple(shape)), named_effects(axis_name)


def psum_scatter(
    x: PyTree,
    axis_name: AxisName,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> PyTree:
    """Sums over a named axis, and returns one slice of the sum to each instance.

    Args:
      x: an array or a pytree of arrays.
      axis_name: a name or a tuple of names.
      scatter_dimension: the dimension that is divided among the instances.
      axis_index_groups: groups of indices of equal size; if given, sums are taken within each
        group.
      tiled: whether to keep the scattered dimension, divided by the size of the axis, instead of
        removing it.

    Returns:
      A pytree of the structure and dtypes of ``x``.

    Raises:
      NameError: if an axis is not bound.
      ValueError: if the dimension does not fit the size of the axis.

    Example:
      >>> import olympus
      >>> import olympus.numpy as jnp
      >>> x = jnp.array([[1, 2], [10, 20]])
      >>> olympus.vmap(lambda row: psum_scatter(row, "i"), axis_name="i")(x)
      Array([11, 22], dtype=int32)
    """
    names = axis_names(axis_name)
    groups = checked_groups(axis_index_groups, names)
    size = group_size(groups, names)

    def of_leaf(leaf: Any) -> Any:
        dimension = canonical_axis(scatter_dimension, get_aval(leaf).ndim)
        if partial_sums.is_unreduced(leaf, names):
            scatter = partial_sums.operation("psum_scatter")
            return scatter(leaf, names, dimension, size, bool(tiled))
        return reduce_scatter_p.bind(
            _varying(leaf, names),
            axis_name=names,
            scatter_dimension=dimension,
            axis_index_groups=groups,
            axis_size=size,
            tiled=bool(tiled),
        )

    return pytrees.tree_map(of_leaf, x)


# ---- exchanging ----


@all_to_all_p.def_effectful_abstract_eval
def _all_to_all_type(
    operand: ShapedArray,
    *,
    split_axis: int,
    concat_axis: int,
    axis_name: AxisName,
    axis_index_groups: tuple | None,
    tiled: bool,
) -> tuple[ShapedArray, frozenset]:
    shape = list(operand.shape)
    size = group_size(axis_index_groups, axis_names(axis_name))
    if shape[split_axis] % size:
        raise ValueError(
            f"The size of all_to_all split_axis ({shape[split_axis]}) has to be divisible by "
            f"the size of the named axis {axis_name} ({size})"
        )
    shape[split_axis] //= size
    shape[concat_axis] *= size
    return operand.update(shape=tuple(shape), weak_type=False), named_effects(axis_name)


def all_to_all(
    x: PyTree,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> PyTree:
    """Exchanges a named axis and a dimension: each instance sends a slice to every instance.

    Args:
      x: an array or a pytree of arrays.
      axis_name: a name or a tuple of names.
      split_axis: the dimension whose slices are sent.
      concat_axis: the dimension along which received slices are concatenated.
      axis_index_groups: groups of indices of equal size; if given, slices are exchanged within each
        group.
      tiled: if True, the size of ``split_axis`` is divided, and the size of ``concat_axis``
        multiplied, by the size of the named axis. Otherwise ``split_axis``, of exactly that size,
        is removed and a new dimension ``concat_axis`` inserted.

    Returns:
      A pytree of the structure and dtypes of ``x``.

    Raises:
      NameError: if an axis is not bound.
      ValueError: if ``split_axis`` does not fit the size of the named axis.

    Example:
      >>> import olympus
      >>> import olympus.numpy as jnp
      >>> x = jnp.array([[1, 2], [3, 4]])
      >>> olympus.vmap(lambda row: all_to_all(row, "i", 0, 0), axis_name="i")(x)
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    names = axis_names(axis_name)
    groups = checked_groups(axis_index_groups, names)
    size = group_size(groups, names)

    def exchange(leaf: Any, split: int, concat: int) -> Any:
        return all_to_all_p.bind(
            _varying(leaf, names),
            split_axis=split,
            concat_axis=concat,
            axis_name=axis_name if not isinstance(axis_name, list) else names,
            axis_index_groups=groups,
            tiled=bool(tiled),
        )

    def of_leaf(leaf: Any) -> Any:
        aval = get_aval(leaf)
        split, concat = (
            canonical_axis(split_axis, aval.ndim),
            canonical_axis(concat_axis, aval.ndim),
        )
        if tiled:
            return exchange(leaf, split, concat)
        if aval.shape[split] != size:
            raise ValueError(
                f"all_to_all requires the size of the mapped axis {axis_name!r} to equal "
                f"x.shape[split_axis], but they are {size} and {aval.shape[split]} respectively. "
                f"x has the shape {aval.shape} on a device; a multiple suffices with tiled=True."
            )
        if split == concat:
            return exchange(leaf, split, concat)
        # An added dimension of size one lets the exchange keep the rank.
        if split < concat:
            concat += 1
        else:
            split += 1
        leaf = expand_dims(leaf, (concat,))
        return squeeze(exchange(leaf, split, concat), (split,))

    return pytrees.tree_map(of_leaf, x)


def pswapaxes(
    x: PyTree, axis_name: AxisName, axis: int, *, axis_index_groups: Groups = None
) -> PyTree:
    """Swaps a named axis with a dimension of the same size; see `all_to_all`.

    Args:
      x: an array or a pytree of arrays.
      axis_name: a name or a tuple of names.
      axis: the dimension.
      axis_index_groups: groups of indices of equal size; if given, slices are exchanged within each
        group.

    Returns:
      A pytree of the structure, shapes and dtypes of ``x``.

    Raises:
      NameError: if an axis is not bound.
      ValueError: if the sizes differ.

    Example:
      >>> import olympus
      >>> import olympus.numpy as jnp
      >>> x = jnp.array([[1, 2], [3, 4]])
      >>> olympus.vmap(lambda row: pswapaxes(row, "i", 0), axis_name="i")(x)
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def _keep_type(operand: ShapedArray, *, axis_name: AxisName, **params: Any) -> Any:
    return operand, named_effects(axis_name)


ppermute_p.def_effectful_abstract_eval(_keep_type)
pbroadcast_p.def_effectful_abstract_eval(_keep_type)


def ppermute(x: PyTree, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> PyTree:
    """Sends values between instances along a named axis.

    Args:
      x: an array or a pytree of arrays.
      axis_name: a name or a tuple of names.
      perm: pairs of a source index and a destination index. Each instance sends at most once and
        receives at most once. Instances that are not destinations receive zeros.

    Returns:
      A pytree of the structure, shapes and dtypes of ``x``.

    Raises:
      NameError: if an axis is not bound.
      ValueError: if a source or a destination is repeated.

    Example:
      >>> import olympus
      >>> import olympus.numpy as jnp
      >>> shift = [(0, 1), (1, 2), (2, 0)]
      >>> olympus.vmap(lambda x: ppermute(x, "i", shift), axis_name="i")(jnp.array([1, 5, 3]))
      Array([3, 1, 5], dtype=int32)
    """
    names = axis_names(axis_name)
    axis_size(names)
    pairs = tuple((int(source), int(destination)) for source, destination in perm)
    for column, role in enumerate(("source", "destination")):
        devices = [pair[column] for pair in pairs]
        if len({*devices}) < len(devices):
            raise ValueError(
                f"ppermute sources and destinations must be unique, got a repeated {role} in "
                f"perm={list(pairs)}."
            )
    return pytrees.tree_map(
        lambda leaf: ppermute_p.bind(_varying(leaf, names), axis_name=names, perm=pairs), x
    )


def pshuffle(x: PyTree, axis_name: AxisName, perm: Sequence[int]) -> PyTree:
    """Permutes the instances along a named axis: instance ``i`` receives the value of ``perm[i]``.

    Args:
      x: an array or a pytree of arrays.
      axis_name: a name or a tuple of names.
      perm: a permutation of the indices of the axis.

    Returns:
      A pytree of the structure, shapes and dtypes of ``x``.

    Raises:
      NameError: if an axis is not bound.
      ValueError: if ``perm`` is not a permutation.

    Example:
      >>> import olympus
      >>> import olympus.numpy as jnp
      >>> olympus.vmap(lambda x: pshuffle(x, "i", [2, 0, 1]), axis_name="i")(jnp.array([1, 5, 3]))
      Array([3, 1, 5], dtype=int32)
    """
    if set(perm) != set(range(len(perm))):
        raise ValueError(f"`perm` does not represent a permutation: {perm}")
    return ppermute(x, axis_name, [(source, position) for position, source in enumerate(perm)])


def pbroadcast(x: PyTree, axis_name: AxisName, source: int) -> PyTree:
    """Sends the value of one instance to all instances.

    Args:
      x: an array or a pytree of arrays.
      axis_name: a name or a tuple of names.
      source: the index of the instance along the axis.

    Returns:
      A pytree of the structure, shapes and dtypes of ``x``.

    Raises:
      NameError: if an axis is not bound.

    Example:
      >>> import olympus
      >>> import olympus.numpy as jnp
      >>> olympus.vmap(lambda x: pbroadcast(x, "i", 1), axis_name="i")(jnp.array([1, 5, 3]))
      Array([5, 5, 5], dtype=int32)
    """
    axis_size(axis_name)
    return pytrees.tree_map(
        lambda leaf: pbroadcast_p.bind(
            _varying(leaf, axis_names(axis_name)), axis_name=axis_name, source=source
        ),
        x,
    )
