# SPDX-License-Identifier: Apache-2.0
"""Axes of `vmap`: which dimension of each argument and result holds the examples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from olympus_ir.settings.naming import naming
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import debug_info_of_tree
from olympus_ir.trees.pytree_prefix import specification_mismatch
from olympus_ir.types.avals import get_aval
from olympus_ir.types.layouts import axes_of_entry, entries_of

from .dimensions import BatchAxis, BatchDim

__all__ = [
    "VmapOptions",
    "check_axes",
    "flat_axes",
    "flat_in_axes",
    "layout_of_axis",
    "mapped_axis",
    "without_redundant_spmd_name",
]


class VmapOptions(NamedTuple):
    """The arguments of `vmap` other than the function; see `vmap`."""

    in_axes: Any
    out_axes: Any
    axis_name: Any
    axis_size: Any
    spmd_axis_name: Any
    sum_match: bool


def check_axes(name: str, axes: Any) -> None:
    """Raises TypeError if a leaf of a tree of axes is not an integer.

    Args:
      name: the name of the argument, ``"in_axes"`` or ``"out_axes"``.
      axes: the tree of axes; None is a node without leaves.
    """
    for leaf in pytrees.tree_leaves(axes):
        if not isinstance(leaf, int):
            raise TypeError(
                f"vmap {name} must be an int, None, or (nested) container with those types as "
                f"leaves, but got {axes}."
            )


def flat_in_axes(in_axes: Any, in_tree: Any, args: tuple, kwargs: dict[str, Any]) -> list[Any]:
    """Returns one axis for each leaf of ``(args, kwargs)``.

    Raises:
      ValueError: ``in_axes`` is not a prefix of the arguments.
    """
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            "positional arguments passed to the function, but got "
            f"len(in_axes)={len(in_axes)}, len(args)={len(args)}"
        )
    args_tree, kwargs_tree = in_tree.children()
    return flat_axes("vmap in_axes", args_tree, in_axes) + [0] * kwargs_tree.num_leaves


def flat_axes(name: str, tree: Any, axes: Any) -> list[Any]:
    """Returns one axis for each leaf of ``tree``.

    Args:
      name: the name of the argument, for the error.
      tree: a structure.
      axes: the axes, a tree prefix of the structure.

    Raises:
      ValueError: ``axes`` is not a prefix of ``tree``.
    """
    if axes is None or type(axes) is int:
        return [axes] * tree.num_leaves
    full = pytrees.Structure(tree)
    try:
        return pytrees.spread_prefix(axes, full, is_leaf=lambda axis: axis is None)
    except ValueError:
        raise specification_mismatch(name, axes, full, lambda axis: axis is None) from None


def mapped_axis(
    fun: Any, in_tree: Any, leaves: Sequence[Any], axes: Sequence[Any], axis_size: int | None
) -> tuple[int, list[BatchDim]]:
    """Returns the number of examples, and the non-negative batch dimension of each leaf.

    Raises:
      ValueError: a leaf lacks the axis, the sizes differ, or no axis is mapped.
    """
    dims: list[BatchDim] = []
    size = axis_size
    consistent = True
    for leaf, axis in zip(leaves, axes, strict=True):
        if axis is None:  # an unmapped argument is passed on unchanged, even if it is not an array
            dims.append(None)
            continue
        try:
            shape = leaf.shape
            ndim = len(shape)
        except (AttributeError, TypeError):  # not an array; the shape of a class is a descriptor
            shape = _shape(leaf)
            ndim = len(shape)
        if not -ndim <= axis < ndim:
            _raise_no_axis(fun, in_tree, leaves, len(dims), axis, shape)
        dim = axis if axis >= 0 else axis + ndim
        dims.append(dim)
        if size is None:
            size = shape[dim]
        elif shape[dim] != size:
            consistent = False
    if not consistent:
        _raise_inconsistent(fun, in_tree, leaves, dims, axis_size)
    if size is None:
        if not leaves:
            args, kwargs = pytrees.tree_unflatten(in_tree, leaves)
            raise ValueError(
                "vmap wrapped function must be passed at least one argument containing an array or "
                f"axis_size must be specified, got empty *args={args} and **kwargs={kwargs}"
            )
        raise ValueError(
            "vmap must have at least one non-None value in in_axes or axis_size must be specified"
        )
    return size, dims


def layout_of_axis(leaves: Sequence[Any], dims: Sequence[BatchDim]) -> tuple[Any, Any] | None:
    """Returns the mesh, and the explicit mesh axes that the examples are sharded over.

    Returns:
      The pair, or None if the examples are not sharded over explicit axes.

    Raises:
      ValueError: arguments are sharded differently along the mapped axis.
    """
    mesh = None
    for leaf, dim in zip(leaves, dims, strict=True):
        if dim is not None:
            layout = getattr(getattr(leaf, "aval", None), "layout", None)
            if layout is not None and layout.spec.partitions[dim] is not None:
                mesh = layout.mesh
    if mesh is None:
        return None
    found = [
        entries_of(get_aval(leaf))[dim]
        for leaf, dim in zip(leaves, dims, strict=True)
        if dim is not None
    ]
    for entry in found:
        if entry != found[0]:
            raise ValueError(
                "Mapped away dimension of inputs passed to vmap should be sharded the same. Got "
                f"inconsistent axis specs: {_entry_text(found[0])} vs {_entry_text(entry)}"
            )
    split = set(axes_of_entry(found[0]))
    for leaf, dim in zip(leaves, dims, strict=True):
        if dim is None:
            layout = getattr(getattr(leaf, "aval", None), "layout", None)
            entries = () if layout is None else layout.spec.partitions
            if any(split.intersection(axes_of_entry(entry)) for entry in entries):
                raise ValueError(
                    "Unmapped values passed to vmap cannot be sharded along the mesh axis you are "
                    f"vmapping over. Got type: {leaf.aval.str_short(True)}, in_axes: None and "
                    f"vmapped mesh axis: {_entry_text(found[0])}"
                )
    return (mesh, found[0])


def _entry_text(entry: Any) -> str:
    return f"({','.join(map(str, entry))})" if isinstance(entry, tuple) else str(entry)


def without_redundant_spmd_name(axis: BatchAxis) -> BatchAxis:
    """Removes the ``spmd_name`` of an axis if the axis has a layout, which implies the name.

    Raises:
      ValueError: the ``spmd_name`` names other mesh axes than the layout.
    """
    mapped_axes = axes_of_entry(axis.spmd_name)
    assert axis.layout is not None
    explicit = axes_of_entry(axis.layout[1])
    if mapped_axes != explicit:
        raise ValueError(
            "Only one of spmd_axis_name or arrays sharded on `Explicit` mesh axis type is allowed. "
            f"Got spmd_axis_name={mapped_axes} and arrays sharded on explicit_mesh_axis={explicit}"
        )
    return axis._replace(spmd_name=None)


def _shape(leaf: Any) -> tuple[int, ...]:
    try:
        return get_aval(leaf).shape  # type: ignore[attr-defined]
    except TypeError as error:
        raise TypeError(
            f"Argument {leaf!r} of type {type(leaf)} is not a valid {naming.library} type"
        ) from error


def _argument_name(fun: Any, in_tree: Any, position: int) -> str:
    names = debug_info_of_tree("vmap", fun, in_tree).arg_names
    return names[position] if names else f"number {position}"


def _raise_no_axis(
    fun: Any, in_tree: Any, leaves: Sequence[Any], position: int, axis: int, shape: tuple
) -> NoReturn:
    needed = axis + 1 if axis >= 0 else -axis
    name = _argument_name(fun, in_tree, position)
    raise ValueError(
        f"vmap was requested to map its argument along axis {axis}, which implies that its rank "
        f"should be at least {needed}, but is only {len(shape)} (its shape is {shape}). It is the "
        f"argument {name}; in_axes of None maps it over no axis, for all examples to share it."
    )


def _raise_inconsistent(
    fun: Any,
    in_tree: Any,
    leaves: Sequence[Any],
    dims: Sequence[BatchDim],
    axis_size: int | None,
) -> NoReturn:
    by_size: dict[int, list[int]] = {}
    for position, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)):
        if dim is not None:
            by_size.setdefault(get_aval(leaf).shape[dim], []).append(position)  # type: ignore[attr-defined]

    def described(position: int) -> str:
        name = _argument_name(fun, in_tree, position)
        by_name = len(leaves) - in_tree.children()[1].num_leaves
        if position >= by_name:
            keyword, rest = re.match(r"(\w+)(.*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
            name = f"kwargs[{keyword!r}]{rest}"
        else:
            name = f"argument {name}"
        aval = get_aval(leaves[position])
        return f"axis {dims[position]} of {name} of type {aval.str_short()}"

    lines = [] if axis_size is None else [f"the `axis_size` argument was {axis_size}"]
    groups = sorted(by_size.items(), key=lambda item: -len(item[1]))
    largest = len(groups[0][1])
    for index, (size, positions) in enumerate(groups):
        if len(positions) == 1:
            lines.append(f"one axis had size {size}: {described(positions[0])}")
        else:
            how_many = "most" if index == 0 and len(positions) == largest else "some"
            lines.append(
                f"{how_many} axes ({len(positions)} of them) had size {size}, e.g. "
                f"{described(positions[0])}"
            )
    raise ValueError(
        "vmap got inconsistent sizes for array axes to be mapped:\n  * " + ";\n  * ".join(lines)
    )
