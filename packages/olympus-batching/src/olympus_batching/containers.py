# SPDX-License-Identifier: Apache-2.0
"""Containers of arrays, such as sparse matrices, that `vmap` maps like arrays.

For most pytrees, an axis of `vmap` is an axis of each array in them. The axes of a container differ
from the axes of its arrays. The container defines which axes of its arrays hold the examples, and
the form of the container with one dimension less or more. Containers are mapped over integer axes,
unlike the classes of `vmappables`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from olympus_ir.trees import pytrees

from .axes import VmapOptions, flat_in_axes

__all__ = [
    "Container",
    "containers",
    "has_containers",
    "joined",
    "register_container",
    "vmap_of_containers",
]


class Container(NamedTuple):
    """The functions by which `vmap` maps values of a type. The type must be a pytree node.

    Attributes:
      split: takes a value and an axis. It returns a value that has the form of one example but
        holds the arrays of all examples, and for each leaf the axis of the examples. It raises
        ValueError if the value cannot be mapped over the axis.
      join: takes a value that has the form of one example but holds the arrays of all examples. It
        also takes the axis of the examples, which is the same in all arrays, and the number of
        examples. It returns the value of all examples, and raises ValueError if there is no such
        value.
    """

    split: Callable[[Any, int], tuple[Any, Sequence[int | None]]]
    join: Callable[[Any, int, int], Any]


# The registered types. Registering a type does not register its subclasses.
containers: dict[type, Container] = {}


def register_container(
    container_type: type,
    split: Callable[[Any, int], tuple[Any, Sequence[int | None]]],
    join: Callable[[Any, int, int], Any],
) -> None:
    """Registers a type whose values `vmap` maps like arrays; see `Container`.

    Args:
      container_type: the type, a node of pytrees; subclasses must be registered separately.
      split: converts a batched value to the form of one example; see `Container`.
      join: converts the form of one example to a batched value; see `Container`.
    """
    containers[container_type] = Container(split, join)


def _is_container(value: Any) -> bool:
    return type(value) in containers


def has_containers(tree: Any) -> bool:
    """Returns whether a pytree contains containers."""
    return any(map(_is_container, pytrees.tree_leaves(tree, is_leaf=_is_container)))


def _split(
    args: tuple, kwargs: dict[str, Any], flat_in_axes: Callable[[Any], Sequence[int | None]]
) -> tuple[list[Any], list[int | None], Any]:
    """Splits the containers among arguments into arrays.

    Args:
      args: the arguments.
      kwargs: the keyword arguments.
      flat_in_axes: maps the structure of the arguments, with containers as leaves, to axes.

    Returns:
      The arrays of the arguments, the axis of each, and the structure of the pair of arguments and
      keyword arguments. In that structure, one example stands in place of each container.
    """
    leaves, tree = pytrees.tree_flatten((args, kwargs), is_leaf=_is_container)
    examples: list[Any] = []
    axes: list[int | None] = []
    for leaf, axis in zip(leaves, flat_in_axes(tree), strict=True):
        if axis is not None and _is_container(leaf):
            leaf, own_axes = containers[type(leaf)].split(leaf, axis)
            axes += own_axes
        else:
            axes += [axis] * len(pytrees.tree_leaves(leaf))
        examples.append(leaf)
    arrays, structure = pytrees.tree_flatten(pytrees.tree_unflatten(tree, examples))
    return arrays, axes, structure


def joined(results: Any, axes: Sequence[int | None], size: int) -> Any:
    """Joins the arrays of results into containers.

    Args:
      results: the results, with the arrays of all examples.
      axes: one axis for each array of the results.
      size: the number of examples.
    """
    leaves, tree = pytrees.tree_flatten(results, is_leaf=_is_container)
    if not any(map(_is_container, leaves)):
        return results
    remaining_axes = iter(axes)
    out = []
    for leaf in leaves:
        leaf_axes = [next(remaining_axes) for _ in pytrees.tree_leaves(leaf)]
        if leaf_axes and leaf_axes[0] is not None and _is_container(leaf):
            leaf = containers[type(leaf)].join(leaf, leaf_axes[0], size)
        out.append(leaf)
    return pytrees.tree_unflatten(tree, out)


def vmap_of_containers(
    vmap: Callable[..., Any],
    fun: Callable[..., Any],
    options: VmapOptions,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Calls a mapped function on arguments that include containers.

    Args:
      vmap: `vmap`, which maps the arrays of the containers.
      fun: the function of one example.
      options: the options of the call of `vmap`.
      args: the arguments.
      kwargs: the keyword arguments.

    Returns:
      The results of all examples.
    """
    arrays, axes, structure = _split(
        args, kwargs, lambda in_tree: flat_in_axes(options.in_axes, in_tree, args, kwargs)
    )

    def of_arrays(*leaves: Any) -> Any:
        example_args, example_kwargs = pytrees.tree_unflatten(structure, leaves)
        return fun(*example_args, **example_kwargs)

    return vmap(of_arrays, **options._replace(in_axes=tuple(axes))._asdict())(*arrays)
