# SPDX-License-Identifier: Apache-2.0
"""Shardings, layouts and devices that the user requests in the arguments of `jit`.

The arguments `in_shardings` and `out_shardings` are prefixes of trees. The functions of this module
expand them to one sharding and one layout for each leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir.programs.calls.options import JitOptions
from olympus_ir.trees import pytrees
from olympus_ir.trees.pytree_prefix import spread_prefix, structure_mismatch
from olympus_ir.types.placement import PartitionSpec
from olympus_sharding.meshes.context import get_mesh
from olympus_sharding.shardings.behavior import check_no_duplicates

from ..._jaxlib import NamedSharding, Sharding
from ...arrays.layouts import Format, Layout
from ...platforms.backends import default_device_for, device_sharding

__all__ = [
    "check_shardings",
    "flat_layouts",
    "flat_shardings",
    "prefix_of_shardings",
    "requested_device",
    "requested_out_shardings",
    "spec_without_mesh",
]


def flat_shardings(requested: dict[str, Any], option: str, tree: Any, count: int) -> list[Any]:
    """Expands the user's shardings, a prefix of a tree structure, to one sharding for each leaf.

    Args:
      requested: the user's options of placement, by name.
      option: ``"in_shardings"`` or ``"out_shardings"``.
      tree: the structure of the arguments or of the result.
      count: the number of leaves.
    """
    prefix = requested.get(option)
    if prefix is None:
        return [None] * count
    if option == "in_shardings":
        tree, _ = tree.children()
    flat = [
        leaf.sharding if type(leaf) is Format else leaf
        for leaf in prefix_of_shardings(prefix, pytrees.Structure(tree), option)
    ]
    if option == "in_shardings" and count > len(flat):
        raise ValueError(
            "pjit does not support kwargs when in_shardings is specified: pass the arguments by "
            "position."
        )
    return [_concrete_sharding(sharding, option) for sharding in flat]


def requested_device(requested: dict[str, Any]) -> Any:
    """Returns the device that the options `device` or `backend` of `jit` choose, or None."""
    if "backend" in requested:
        return default_device_for(requested["backend"])
    return requested.get("device")


def requested_out_shardings(options: JitOptions, program: Any) -> list[Any]:
    """Returns the requested shardings: one, or None, for each leaf of the result."""
    requested = dict(options.placement)
    device = requested_device(requested)
    if device is not None:
        return [device_sharding(device)] * program.out_tree.num_leaves
    return flat_shardings(requested, "out_shardings", program.out_tree, program.out_tree.num_leaves)


def flat_layouts(requested: dict[str, Any], option: str, tree: Any, count: int) -> tuple:
    """Returns the requested layouts, one for each leaf; an empty tuple if there are none.

    The arguments are those of `flat_shardings`.
    """
    prefix = requested.get(option)
    if prefix is None or not any(type(leaf) is Format for leaf in prefix[1]):
        return ()
    if option == "in_shardings":
        tree, _ = tree.children()
    flat = [
        leaf.layout if type(leaf) is Format else None
        for leaf in prefix_of_shardings(prefix, pytrees.Structure(tree), option)
    ]
    flat += [None] * (count - len(flat))
    return tuple(flat) if any(layout is not None for layout in flat) else ()


def prefix_of_shardings(
    shardings: tuple[Any, Sequence[Any]], target: Any, option: str
) -> list[Any]:
    """Expands a tree of shardings to the leaves of a target, of which the tree is a prefix.

    Args:
      shardings: the tree of shardings, as a pair of structure and leaves.
      target: the positional arguments, or the result.
      option: the name of the tree, ``"in_shardings"`` or ``"out_shardings"``.

    Raises:
      ValueError: the tree is not a prefix of the target.
    """
    prefix = pytrees.tree_unflatten(*shardings)
    is_of_arguments = option == "in_shardings"
    if is_of_arguments and isinstance(prefix, list):
        prefix = tuple(prefix)

    def is_leaf(value: Any) -> bool:
        return value is None or isinstance(value, Sharding | PartitionSpec | Format)

    try:
        return spread_prefix(prefix, target, is_leaf)
    except ValueError as error:
        name = f"pjit {option}"
        number = _number_of_arguments(target)
        if is_of_arguments and isinstance(prefix, tuple) and len(prefix) != number:
            raise ValueError(
                f"{name} specification must be a tree prefix of the positional arguments tuple. In "
                f"particular, {name} must either be a Sharding, a PartitionSpec, or a tuple of "
                f"length equal to the number of positional arguments. But {name} is the wrong "
                f"length: got a tuple or list of length {len(prefix)} for an args tuple of length "
                f"{number}."
            ) from None
        values = "positional arguments tuple" if is_of_arguments else "result"
        found = structure_mismatch(name, prefix, target, is_leaf, error)
        raise ValueError(
            f"{name} specification must be a tree prefix of the {values}: {found}"
        ) from None


def _number_of_arguments(target: Any) -> int:
    """Returns the length of a tuple, or of the structure of one."""
    level = target.one_level() if isinstance(target, pytrees.Structure) else ((), target)
    return 0 if level is None else len(level[1])


def check_shardings(option: str, shardings: Sequence[Any]) -> None:
    """Checks the shardings that `jit` is given for operands or results.

    Args:
      option: the argument of `jit`, ``"in_shardings"`` or ``"out_shardings"``.
      shardings: the leaves of the argument.

    Raises:
      TypeError: one of them is not a sharding, partition spec or format.
      ValueError: one of them has an unconstrained dimension or an axis twice, or is a layout
        without a sharding.
    """
    for leaf in shardings:
        sharding: Any = leaf.sharding if isinstance(leaf, Format) else leaf
        if sharding is not None and not isinstance(sharding, Sharding | PartitionSpec):
            raise _not_a_sharding(option, leaf)
        if isinstance(sharding, PartitionSpec):
            check_no_duplicates(sharding, option)
        spec = getattr(sharding, "spec", sharding)
        if isinstance(spec, PartitionSpec) and PartitionSpec.UNCONSTRAINED in spec:
            raise ValueError(
                f"Unconstrained dims are not allowed when passed to {option}: {sharding}. Leave "
                "the sharding away, or constrain values inside the function."
            )


def _not_a_sharding(option: str, value: Any) -> TypeError | ValueError:
    """Returns the error for a value that `jit` does not take as a sharding."""
    if isinstance(value, Layout):
        return ValueError(
            "`olympus.jit` does not accept device-local layouts directly. Create a `Format` "
            "instance wrapping this device-local layout and pass that to `jit` instead. Got "
            f"{value}"
        )
    return TypeError(
        f"{option} leaf specifications are expected to be PartitionSpec instances or None, but got "
        f"{value} of type {type(value).__name__}; shardings and formats are taken too."
    )


def _concrete_sharding(sharding: Any, option: str) -> Any:
    if isinstance(sharding, PartitionSpec):
        mesh = get_mesh()
        if mesh.empty:
            raise spec_without_mesh(sharding, option)
        return NamedSharding(mesh, sharding)
    return sharding


def spec_without_mesh(spec: PartitionSpec, option: str) -> RuntimeError:
    """Returns the error for a partition spec in an argument of `jit` where no mesh is in force."""
    return RuntimeError(
        "jit requires a non-empty mesh in context if you are passing `PartitionSpec`s to "
        f"{option}, got {spec}. You can define a context mesh via `olympus.set_mesh(mesh)`. "
        f"Alternatively, provide `Sharding`s to {option} and then the mesh context manager is not "
        "required."
    )
