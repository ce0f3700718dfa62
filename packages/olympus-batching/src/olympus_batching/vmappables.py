# SPDX-License-Identifier: Apache-2.0
"""Containers that `vmap` maps over by specifications that libraries define.

A library registers a class of containers with a class of specifications, such as names of axes.
``vmap(f, in_axes=spec)`` then calls ``f`` with one element of the container. The library's
``to_elt`` makes the element from elements of the container's arrays. The library's ``from_elt``
makes a container from the results of all examples.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from olympus_ir import lax
from olympus_ir.programs.tracing import current, set_current_trace
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import get_aval

from .axes import VmapOptions
from .dimensions import broadcast_batch, move_dim
from .trace import BatchTrace
from .tracers import BatchTracer

__all__ = [
    "element",
    "has_specs",
    "numbers",
    "register_vmappable",
    "spec_types",
    "unregister_vmappable",
    "vmap_by_specs",
]


class Vmappable(NamedTuple):
    """The functions that convert containers of a class to examples and back."""

    spec_type: type
    axis_size_type: type
    to_elt: Callable[..., Any]
    from_elt: Callable[..., Any]
    make_iota: Callable[[Any], Any] | None


_vmappables: dict[type, Vmappable] = {}
# The number of registered classes of containers for each class of specifications.
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
      axis_size_type: the class of values that specify the number of examples. The ``axis_size`` of
        `vmap` may be an instance of the class.
      to_elt: takes ``(element_of, get_index, container, spec)`` and returns one example. It calls
        ``element_of(part, part_spec)`` for parts of the container. A part is an array with the
        position of its axis, or a container with a specification. ``get_index()`` returns the
        example's index.
      from_elt: takes ``(batch_of, axis_size, element, spec)`` and returns a container of all
        examples. It calls ``batch_of(axis_size, part, part_spec)`` for the parts of the element.
      make_iota: takes an ``axis_size`` and returns the indices of the examples. If it is None, the
        indices count from 0.
    """
    unregister_vmappable(data_type)
    _vmappables[data_type] = Vmappable(spec_type, axis_size_type, to_elt, from_elt, make_iota)
    spec_types[spec_type] = spec_types.get(spec_type, 0) + 1


def unregister_vmappable(data_type: type) -> None:
    """Undoes `register_vmappable` for a class; has no effect if the class is not registered."""
    known = _vmappables.pop(data_type, None)
    if known is not None:
        spec_types[known.spec_type] -= 1
        if not spec_types[known.spec_type]:
            del spec_types[known.spec_type]


def _is_spec(axis: Any) -> bool:
    """Returns whether an axis is a library's specification. Integers count as plain axes."""
    return type(axis) in spec_types and type(axis) is not int


def _is_for_container(value: Any, axis: Any) -> bool:
    """Returns whether a value is mapped as a container, given its axis."""
    return _is_spec(axis) or (type(axis) in spec_types and type(value) in _vmappables)


def has_containers_with_integers(values: Any) -> bool:
    """Returns whether values contain containers whose specifications are integers."""
    if int not in spec_types:
        return False
    kinds = map(type, pytrees.tree_leaves(values, is_leaf=_is_leaf))
    return any(kind in _vmappables and _vmappables[kind].spec_type is int for kind in kinds)


def _is_axis(axis: Any) -> bool:
    return axis is None or _is_spec(axis)


def has_specs(axes: Any) -> bool:
    """Returns whether axes contain specifications of libraries."""
    return any(map(_is_spec, pytrees.tree_leaves(axes, is_leaf=_is_spec)))


def _is_leaf(value: Any) -> bool:
    return type(value) in _vmappables


def _axes_of(option: str, axes: Any, tree: Any) -> list[Any]:
    """Returns one axis for each leaf or container of a structure; ``axes`` is a tree prefix."""
    full = pytrees.Structure(tree)
    try:
        return pytrees.spread_prefix(axes, full, is_leaf=_is_axis)
    except ValueError as error:
        raise ValueError(
            f"vmap {option} must be a tree prefix of the corresponding value"
        ) from error


def vmap_by_specs(
    vmap: Callable[..., Any], fun: Callable[..., Any], options: VmapOptions
) -> Callable[..., Any]:
    """Maps a function over axes that include specifications of libraries.

    Leaves values whose axes are integers or None to `vmap`. Inside `vmap`, one element replaces
    each container among the arguments, and a container replaces each element among the results.

    Args:
      vmap: `vmap`.
      fun: the function of one example.
      options: the options of the call of `vmap`.

    Returns:
      The mapped function.
    """
    axis_size = options.axis_size

    @functools.wraps(fun)
    def mapped_over_containers(*args: Any, **kwargs: Any) -> Any:
        values, in_tree = pytrees.tree_flatten((args, kwargs), is_leaf=_is_leaf)
        args_tree, kwargs_tree = in_tree.children()
        axes = _axes_of("in_axes", options.in_axes, args_tree) + [0] * kwargs_tree.num_leaves
        mapped_pairs = [
            pair for pair in zip(values, axes, strict=True) if not _is_for_container(*pair)
        ]
        outputs = _Outputs()

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
            size = trace.axis.size if axis_size is None else axis_size
            return outputs.separate(trace, size, fun(*args, **kwargs), options.out_axes)

        mapped = vmap(
            one_example,
            **options._replace(
                in_axes=tuple(axis for _, axis in mapped_pairs),
                out_axes=outputs.plain_axes,
                axis_size=None if axis_size is None else _number_of_examples(axis_size),
            )._asdict(),
        )
        return outputs.join(mapped(*(value for value, _ in mapped_pairs)))

    return mapped_over_containers


class _Outputs:
    """The leaves of a function's results, separated into containers and other values.

    Attributes:
      containers: the containers of the results, each with all examples.
      plain_axes: the ``out_axes`` of the other values. `vmap` reads them after it has called the
        function.
    """

    def __init__(self) -> None:
        self.containers: list[Any] = []
        self.plain_axes: list[Any] = []
        self._tree: Any = None
        self._are_containers: list[bool] = []

    def separate(self, trace: BatchTrace, size: Any, result: Any, out_axes: Any) -> list[Any]:
        """Stores the containers of a result in `containers`, and returns the other leaves.

        Args:
          trace: the trace of the `vmap`.
          size: the number of examples, or a library's value that specifies it.
          result: the result of the function for one example.
          out_axes: the axes or specifications of the result, a tree prefix.
        """
        leaves, self._tree = pytrees.tree_flatten(result, is_leaf=_is_leaf)
        plain = []
        for leaf, axis in zip(leaves, _axes_of("out_axes", out_axes, self._tree), strict=True):
            is_container = _is_for_container(leaf, axis)
            self._are_containers.append(is_container)
            if is_container:
                self.containers.append(_batch(trace, size, leaf, axis))
            else:
                plain.append(leaf)
                self.plain_axes.append(axis)
        return plain

    def join(self, plain_values: Sequence[Any]) -> Any:
        """Returns the result for all examples: the stored containers and the given other leaves."""
        plain, containers = iter(plain_values), iter(self.containers)
        leaves = [next(containers if flag else plain) for flag in self._are_containers]
        return pytrees.tree_unflatten(self._tree, leaves)


def _element(trace: BatchTrace, axis_size: Any, value: Any, axis: Any) -> Any:
    def index() -> Any:
        with set_current_trace(trace.parent):
            size = trace.axis.size if axis_size is None else axis_size
            return BatchTracer(trace, numbers(size), 0)

    return element(trace, index, value, axis)


def element(trace: BatchTrace, get_index: Callable[[], Any], value: Any, axis: Any) -> Any:
    """Returns one element of a value, inside the trace of a `vmap`.

    Args:
      trace: the trace.
      get_index: returns the number of the example.
      value: a tree of arrays, or a container.
      axis: the axis of the examples, None for a value without one, or the specification of the
        container.
    """
    if not _is_for_container(value, axis):
        if axis is None:
            return value
        return pytrees.tree_map(lambda leaf: _element_of_array(trace, leaf, axis), value)
    known = _vmappables.get(type(value))
    if known is None:
        raise TypeError(f"vmap cannot map values of {type(value)} with in_axes {axis!r}")
    return known.to_elt(functools.partial(element, trace, get_index), get_index, value, axis)


def _element_of_array(trace: BatchTrace, array: Any, axis: int) -> Any:
    shape = get_aval(array).shape
    if not -len(shape) <= axis < len(shape) or shape[axis] != trace.axis.size:
        raise ValueError(
            f"axis {axis} of an array of shape {shape} does not hold {trace.axis.size} examples"
        )
    return BatchTracer(trace, array, axis % len(shape))


def _batch(trace: BatchTrace, size: Any, element: Any, axis: Any) -> Any:
    """Returns the value of all examples, given one element inside the trace of a `vmap`."""
    if not _is_for_container(element, axis):
        return pytrees.tree_map(lambda leaf: _batch_of_array(trace, leaf, axis), element)
    known = _vmappables.get(type(element))
    if known is None:
        raise TypeError(f"vmap cannot return values of {type(element)} with out_axes {axis!r}")
    return known.from_elt(functools.partial(_batch, trace), size, element, axis)


def _batch_of_array(trace: BatchTrace, array: Any, axis: int | None) -> Any:
    ((value,), (dim,)) = trace.unwrap([array])
    if axis is None:
        if dim is not None:
            raise ValueError("a part of a container is batched, but its axis is None")
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


def numbers(axis_size: Any) -> Any:
    """Returns the numbers of the examples, given how many there are."""
    if isinstance(axis_size, int):
        return lax.iota("int32", axis_size)
    return _iota_of(axis_size)


def _iota_of(axis_size: Any) -> Any:
    for known in _vmappables.values():
        if known.make_iota is not None and isinstance(axis_size, known.axis_size_type):
            return known.make_iota(axis_size)
    raise TypeError(f"`axis_size` must be an integer or of a registered type, got {axis_size!r}")
