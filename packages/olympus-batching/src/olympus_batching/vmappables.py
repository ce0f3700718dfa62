# SPDX-License-Identifier: Apache-2.0
"""Containers that `vmap` maps over in their own way, and the specifications that say how.

A library registers a class of containers with a class of specifications, such as names of axes.
``vmap(f, in_axes=spec)`` then hands ``f`` what one element of the container is, which the library's
``to_elt`` makes of the elements of the arrays in it; ``from_elt`` makes a container of all results.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from olympus_ir import lax
from olympus_ir.programs.tracing import current, set_current_trace
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import get_aval

from .dimensions import broadcast_batch, move_dim
from .trace import BatchTrace, BatchTracer

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
    """Whether an axis is a specification whatever it is for: integers may be axes of arrays."""
    return type(axis) in spec_types and type(axis) is not int


def _is_for_container(value: Any, axis: Any) -> bool:
    return _is_spec(axis) or (type(axis) in spec_types and type(value) in _vmappables)


def has_containers_with_integers(values: Any) -> bool:
    """Whether there are containers among values that are mapped over by integers."""
    if int not in spec_types:
        return False
    kinds = map(type, pytrees.tree_leaves(values, is_leaf=_is_leaf))
    return any(kind in _vmappables and _vmappables[kind].spec_type is int for kind in kinds)


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
    """`vmap` where there are specifications of libraries among the axes.

    What has plain axes is left to `vmap`; containers are taken apart, and put together, within.
    """

    @functools.wraps(fun)
    def mapped_over_containers(*args: Any, **kwargs: Any) -> Any:
        values, in_tree = pytrees.tree_flatten((args, kwargs), is_leaf=_is_leaf)
        args_tree, kwargs_tree = in_tree.children()
        axes = _axes_of("in_axes", in_axes, args_tree) + [0] * kwargs_tree.num_leaves
        given = [pair for pair in zip(values, axes, strict=True) if not _is_for_container(*pair)]
        # Of the results with specifications; the axes of the others, looked at when all is done.
        containers: list[Any] = []
        plain_axes: list[Any] = []
        results: list[tuple[Any, list[bool]]] = []

        def one_example(*examples: Any) -> list[Any]:
            trace: Any = current.trace
            plain = iter(examples)
            inputs = [
                _element(trace, axis_size, value, axis)
                if _is_for_container(value, axis)
                else next(plain)
                for value, axis in zip(values, axes, strict=True)
            ]
            args, kwargs = pytrees.tree_unflatten(in_tree, inputs)
            outputs, out_tree = pytrees.tree_flatten(fun(*args, **kwargs), is_leaf=_is_leaf)
            targets = _axes_of("out_axes", out_axes, out_tree)
            size = trace.axis.size if axis_size is None else axis_size
            pairs = list(zip(outputs, targets, strict=True))
            marks = [_is_for_container(output, axis) for output, axis in pairs]
            results.append((out_tree, marks))
            for (output, axis), is_container in zip(pairs, marks, strict=True):
                if is_container:
                    containers.append(_batch(trace, size, output, axis))
                else:
                    plain_axes.append(axis)
            return [
                x for (x, _), is_container in zip(pairs, marks, strict=True) if not is_container
            ]

        mapped = vmap(
            one_example,
            in_axes=tuple(axis for _, axis in given),
            out_axes=plain_axes,
            axis_name=axis_name,
            axis_size=None if axis_size is None else _number_of_examples(axis_size),
            **options,
        )
        plain = iter(mapped(*(value for value, _ in given)))
        ((out_tree, marks),) = results
        whole = iter(containers)
        outputs = [next(whole if is_container else plain) for is_container in marks]
        return pytrees.tree_unflatten(out_tree, outputs)

    return mapped_over_containers


def _element(trace: BatchTrace, axis_size: Any, value: Any, axis: Any) -> Any:
    """One element of a value, within the trace of a `vmap`."""
    if not _is_for_container(value, axis):
        if axis is None:
            return value
        return pytrees.tree_map(lambda leaf: _element_of_array(trace, leaf, axis), value)
    known = _vmappables.get(type(value))
    if known is None:
        raise TypeError(f"values of type {type(value)} are not mapped over by {axis!r}")

    def index() -> Any:
        with set_current_trace(trace.parent):
            return BatchTracer(trace, _numbers(trace.axis.size, axis_size), 0)

    return known.to_elt(functools.partial(_element, trace, axis_size), index, value, axis)


def _element_of_array(trace: BatchTrace, array: Any, axis: int) -> Any:
    shape = get_aval(array).shape
    if not -len(shape) <= axis < len(shape) or shape[axis] != trace.axis.size:
        raise ValueError(
            f"axis {axis} of an array of shape {shape} does not hold {trace.axis.size} examples"
        )
    return BatchTracer(trace, array, axis % len(shape))


def _batch(trace: BatchTrace, size: Any, element: Any, axis: Any) -> Any:
    """The value of which something within the trace of a `vmap` is one element."""
    if not _is_for_container(element, axis):
        return pytrees.tree_map(lambda leaf: _batch_of_array(trace, leaf, axis), element)
    known = _vmappables.get(type(element))
    if known is None:
        raise TypeError(f"results of type {type(element)} are not made by {axis!r}")
    return known.from_elt(functools.partial(_batch, trace), size, element, axis)


def _batch_of_array(trace: BatchTrace, array: Any, axis: int | None) -> Any:
    ((value,), (dim,)) = trace.unwrap([array])
    if axis is None:
        if dim is not None:
            raise ValueError("a part of a container differs between examples, and has no axis")
        return value
    with set_current_trace(trace.parent):
        if dim is None:
            return broadcast_batch(value, trace.axis.size, axis)
        return move_dim(value, dim, axis)


def _number_of_examples(axis_size: Any) -> int:
    try:
        return operator.index(axis_size)
    except TypeError:
        return _iota_of(axis_size).shape[0]


def _numbers(size: int, axis_size: Any) -> Any:
    if axis_size is None or isinstance(axis_size, int):
        return lax.iota("int32", size)
    return _iota_of(axis_size)


def _iota_of(axis_size: Any) -> Any:
    for known in _vmappables.values():
        if known.make_iota is not None and isinstance(axis_size, known.axis_size_type):
            return known.make_iota(axis_size)
    raise TypeError(f"axis_size is {axis_size!r}, which tells no number of examples")
