# SPDX-License-Identifier: Apache-2.0
"""Checks that shardings and layouts fit the operands and results of a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir.trees.flattening import result_paths
from olympus_ir.types import dtypes
from olympus_ir.types.memory_spaces import MEMORY_KINDS, MemorySpace, space_of_kind

from ...arrays.layouts import Layout

__all__ = [
    "check_divisible",
    "check_fits_one_device",
    "check_memories",
    "check_ranks",
    "name_of_operand",
]


def name_of_operand(program: Any, position: int) -> str:
    """Returns the name of an operand, with its path in an argument that is a pytree."""
    info = program.closed.jaxpr.debug_info
    names = (info.arg_names if info is not None else None) or ()
    return names[position] if position < len(names) else f"number {position}"


def check_divisible(
    program: Any, role: str, shardings: Sequence[Any], avals: Sequence[Any]
) -> None:
    """Checks that shardings fit the ranks and sizes of the arguments or results of a program.

    Args:
      program: the traced program, whose trees name the values in errors.
      role: "arguments" or "outputs".
      shardings: for each value a sharding, or None.
      avals: the types of the values.

    Raises:
      ValueError: a sharding has more dimensions than its value.
      IndivisibleError: the size of a dimension is not divisible by the number of its parts.
    """
    for position, (sharding, aval) in enumerate(zip(shardings, avals, strict=True)):
        if sharding is not None and not dtypes.is_extended(getattr(aval, "dtype", None)):
            try:
                sharding.check_compatible_aval(aval.shape)
            except ValueError as error:
                is_result = role == "outputs"
                paths = result_paths(program.out_tree) if is_result else ()
                name = paths[position] if is_result else name_of_operand(program, position)
                raise ValueError(
                    f"One of pjit {role} with pytree key path {name} is incompatible with its "
                    f"sharding annotation {sharding}: {error}"
                ) from None
            sharding.shard_shape(aval.shape)


def check_ranks(role: str, layouts: Sequence[Any], avals: Sequence[Any]) -> None:
    for layout, aval in zip(layouts, avals, strict=False):
        if isinstance(layout, Layout):
            try:
                layout.check_compatible_aval(aval.shape)
            except ValueError as error:
                raise ValueError(
                    f"One of jit {role} is incompatible with its layout annotation {layout}: "
                    f"{error}"
                ) from None


def check_memories(in_given: Sequence[Any], avals: Sequence[Any]) -> None:
    """Raises ValueError if an operand is not in the memory of its requested sharding."""
    for sharding, aval in zip(in_given, avals, strict=True):
        space = getattr(aval, "memory_space", MemorySpace.Device)
        if sharding is not None and space_of_kind(sharding.memory_kind) is not space:
            raise ValueError(
                "Memory kinds passed to olympus.jit does not match memory kind on the respective "
                f"arg. Got jit memory kind: {sharding.memory_kind}, arg memory kind: "
                f"{MEMORY_KINDS[space]} for arg type: {aval.str_short()}. Move it with device_put."
            )


def check_fits_one_device(program: Any) -> None:
    """Raises if a result is sharded over a mesh whose devices are unknown."""
    for aval in program.closed.out_avals:
        layout = getattr(aval, "layout", None)
        if layout is not None and layout.mesh.size > 1:
            raise ValueError(
                "Length of device assignment 1 is not equal to the size of the mesh "
                f"{layout.mesh.size} of aval {aval.str_short(True, True)}. Please enter your `jit` "
                "into a mesh context via `olympus.set_mesh`."
            )
