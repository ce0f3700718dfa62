# SPDX-License-Identifier: Apache-2.0
"""Containers that `vmap` maps over in their own way, and the specifications that say how.

A library registers a class of containers with a class of specifications, such as names of axes.
``vmap(f, in_axes=spec)`` then hands ``f`` what one element of the container is, which the library's
``to_elt`` makes of the elements of the arrays in it; ``from_elt`` makes a container of all results.

Both are called twice, once to learn which arrays they take apart and put together, and once with
what an ordinary `vmap` over these arrays has made of them.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from olympus_ir import lax, pytrees
from olympus_ir.avals import get_aval
from olympus_ir.shape_struct import ShapeDtypeStruct

__all__ = ["has_specs", "register_vmappable", "spec_types", "unregister_vmappable", "vmap_by_specs"]


class Vmappable(NamedTuple):
    """How containers of a class are taken apart and put together."""

    spec_type: type
    axis_size_type: type
    to_elt: Callable[..., Any]
    from_elt: Callable[..., Any]
    make_iota: Callable[[Any], Any] | None


_vmappables: dict[type, Vmappable] = {}
# The classes of specifications, with the number of classes of containers that each is for.
spec_types: dict[type, int] = {}


def register_vmappable(
    data_type: type,
    spec_type: type,
    axis_size_type: type,
    to_elt: Callable[..., Any],
    from_elt: Callable[..., Any],
    make_iota: Callable[..., Any] | None,
) -> None:
    """Makes `vmap` map over containers of a class by specifications of another class.

    Args:
      data_type: the class of the containers, which are pytrees.
      spec_type: the class of the specifications, hashable values.
      axis_size_type: the class of what tells the number of examples; ``axis_size`` of `vmap` may be
        an instance.
      to_elt: ``(element_of, get_index, container, spec)`` to what one example is. It calls
        ``element_of(part, part_spec)`` for parts of the container: arrays with the position of
        their axis, or containers with a specification. ``get_index()`` is the example's number.
      from_elt: ``(batch_of, axis_size, element, spec)`` to a container of all examples. It calls
        ``batch_of(axis_size, part, part_spec)`` likewise.
      make_iota: from an ``axis_size`` to the numbers of the examples; None to count them from 0.
    """
    unregister_vmappable(data_type)
    _vmappables[data_type] = Vmappable(spec_type, axis_size_type, to_elt, from_elt, make_iota)
    spec_types[spec_type] = spec_types.get(spec_type, 0) + 1


def unregister_vmappable(data_type: type) -> None:
    """Takes back what `register_vmappable` says of a class; without effect if it says nothing."""
    known = _vmappables.pop(data_type, None)
    if known is not None:
        spec_types[known.spec_type] -= 1
        if not spec_types[known.spec_type]:
            del spec_types[known.spec_type]


def _is_spec(axis: Any) -> bool:
    return type(axis) in spec_types


def _is_axis(axis: Any) -> bool:
    return axis is None or _is_spec(axis)


def has_specs(axes: Any) -> bool:
    """Whether there are specifications of libraries among axes."""
    return any(map(_is_spec, pytrees.tree_leaves(axes, is_leaf=_is_spec)))


def _is_leaf(value: Any) -> bool:
    return type(value) in _vmappables


def _axes_of(what: str, axes: Any, tree: Any) -> list[Any]:
    """One axis for each leaf or container of a structure of which ``axes`` is a prefix."""
    full = pytrees.tree_unflatten(tree, [object()] * tree.num_leaves)
    try:
        return pytrees.spread_prefix(axes, full, is_leaf=_is_axis)
    except ValueError as error:
        raise ValueError(f"vmap {what} must be a tree prefix of the corresponding value") from error


def vmap_by_specs(
    vmap: Callable[..., Any],
    fun: Callable[..., Any],
    in_axes: Any,
    out_axes: Any,
    axis_name: Any,
    axis_size: Any,
    **options: Any,
) -> Callable[..., Any]:
    """`vmap` where there are specifications of libraries among the axes."""

    @functools.wraps(fun)
    def mapped_over_containers(*args: Any, **kwargs: Any) -> Any:
        values, in_tree = pytrees.tree_flatten((args, kwargs), is_leaf=_is_leaf)
        args_tree, kwargs_tree = in_tree.children()
        axes = _axes_of("in_axes", in_axes, args_tree) + [0] * kwargs_tree.num_leaves
        parts: list[tuple[Any, Any]] = []
        asked: list[bool] = []

        def unknown_index() -> ShapeDtypeStruct:
            asked.append(True)
            return ShapeDtypeStruct((), "int32")

        for value, axis in zip(values, axes, strict=True):
            _element(lambda part, dim: _noted(parts, part, dim), unknown_index, value, axis)
        size = _number_of_examples(parts, axis_size)
        numbers = _numbers(size, axis_size) if asked else None
        out_parts_axes: list[Any] = []
        elements: list[Any] = []
        out_trees: list[Any] = []

        def one_example(index: Any, *examples: Any) -> list[Any]:
            given = iter(examples)
            inputs = [
                _element(lambda part, dim: next(given), lambda: index, value, axis)
                for value, axis in zip(values, axes, strict=True)
            ]
            args, kwargs = pytrees.tree_unflatten(in_tree, inputs)
            results, out_tree = pytrees.tree_flatten(fun(*args, **kwargs), is_leaf=_is_leaf)
            out_trees.append(out_tree)
            elements.extend(results)
            found: list[tuple[Any, Any]] = []
            for result, axis in zip(results, _axes_of("out_axes", out_axes, out_tree), strict=True):
                _batch(lambda _, part, dim: _noted(found, part, dim), axis_size, result, axis)
            out_parts_axes.extend(dim for _, dim in found)
            return [part for part, _ in found]

        mapped = vmap(
            one_example,
            in_axes=(0 if asked else None, *(dim for _, dim in parts)),
            # Filled when the function has run, and looked at then.
            out_axes=out_parts_axes,
            axis_name=axis_name,
            axis_size=size,
            **options,
        )
        batches = mapped(numbers, *(part for part, _ in parts))
        given = iter(batches)
        (out_tree,) = out_trees
        told = size if axis_size is None else axis_size
        outputs = [
            _batch(lambda _, part, dim: next(given), told, element, axis)
            for element, axis in zip(
                elements, _axes_of("out_axes", out_axes, out_tree), strict=True
            )
        ]
        return pytrees.tree_unflatten(out_tree, outputs)

    return mapped_over_containers


def _noted(parts: list[tuple[Any, Any]], part: Any, dim: Any) -> Any:
    """Notes an array and its axis; returns what stands for its element, or its batch."""
    parts.append((part, dim))
    aval = get_aval(part)
    shape = list(aval.shape)
    if dim is not None and shape:
        del shape[dim]
    return ShapeDtypeStruct(tuple(shape), aval.dtype)


def _element(of_array: Callable[..., Any], index: Callable[[], Any], value: Any, axis: Any) -> Any:
    """One element of a value, by what one of an array is."""
    known = _vmappables.get(type(value)) if _is_spec(axis) else None
    if known is None:
        if _is_spec(axis):
            raise TypeError(f"values of type {type(value)} are not mapped over by {axis!r}")
        return pytrees.tree_map(lambda leaf: of_array(leaf, axis), value)

    def of_part(part: Any, part_axis: Any) -> Any:
        return _element(of_array, index, part, part_axis)

    return known.to_elt(of_part, index, value, axis)


def _batch(of_array: Callable[..., Any], size: Any, element: Any, axis: Any) -> Any:
    """The value of which something is one element, by what an array of one is."""
    known = _vmappables.get(type(element)) if _is_spec(axis) else None
    if known is None:
        if _is_spec(axis):
            raise TypeError(f"results of type {type(element)} are not made by {axis!r}")
        return pytrees.tree_map(lambda leaf: of_array(size, leaf, axis), element)

    def of_part(part_size: Any, part: Any, part_axis: Any) -> Any:
        return _batch(of_array, part_size, part, part_axis)

    return known.from_elt(of_part, size, element, axis)


def _number_of_examples(parts: Sequence[tuple[Any, Any]], axis_size: Any) -> int:
    for part, dim in parts:
        if dim is not None:
            return get_aval(part).shape[dim]
    if axis_size is None:
        raise ValueError(
            "vmap must have at least one non-None value in in_axes or axis_size must be specified"
        )
    try:
        return operator.index(axis_size)
    except TypeError:
        return _iota_of(axis_size).shape[0]


def _numbers(size: int, axis_size: Any) -> Any:
    numbers = None if axis_size is None or isinstance(axis_size, int) else _iota_of(axis_size)
    return lax.iota("int32", size) if numbers is None else numbers


def _iota_of(axis_size: Any) -> Any:
    for known in _vmappables.values():
        if known.make_iota is not None and isinstance(axis_size, known.axis_size_type):
            return known.make_iota(axis_size)
    raise TypeError(f"axis_size is {axis_size!r}, which tells no number of examples")
