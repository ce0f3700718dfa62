# SPDX-License-Identifier: Apache-2.0
"""Operands and results of a module's main function, with their attributes.

A record stands for each operand and each result. Passes such as `donate` and `annotate_shardings`
write MLIR attributes into the records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.types.memory_spaces import MEMORY_KINDS, MemorySpace

from ..arrays.layouts import Layout, layouts_in_use
from .lowering import mlir
from .lowering.shardings import sharding_attribute

__all__ = [
    "Operand",
    "Result",
    "annotate_layouts",
    "annotate_memories",
    "annotate_paths",
    "annotate_shardings",
    "donate",
]


class Operand:
    """Operand of the main function.

    Attributes:
      aval: the type.
      donated: whether results may reuse the operand's memory.
      sharding: the sharding over the program's mesh; None if unknown.
      layout: the requested layout: a `Layout`, ``Layout.AUTO``, or None for the default.
      attributes: the MLIR attributes by name.
    """

    __slots__ = ("attributes", "aval", "donated", "layout", "sharding")

    def __init__(
        self, aval: Any, *, donated: bool = False, sharding: Any = None, layout: Any = None
    ) -> None:
        self.aval = aval
        self.donated = donated
        self.sharding = sharding
        self.layout = layout
        self.attributes: dict[str, Any] = {}


class Result:
    """Result of the main function.

    Attributes:
      aval: the type.
      sharding: the requested sharding; None to leave it to the compiler.
      layout: the requested layout: a `Layout`, ``Layout.AUTO``, or None for the default.
      attributes: the MLIR attributes by name.
    """

    __slots__ = ("attributes", "aval", "layout", "sharding")

    def __init__(self, aval: Any, *, sharding: Any = None, layout: Any = None) -> None:
        self.aval = aval
        self.sharding = sharding
        self.layout = layout
        self.attributes: dict[str, Any] = {}


def donate(operands: Sequence[Operand], results: Sequence[Result], num_tokens: int) -> None:
    """Lets results reuse the memory of donated operands.

    A result reuses the memory of an operand of the same type if their shards have the same shape.
    If there is no such result, the compiler may reuse the memory for a result with the same number
    of bytes, or for a result whose sharding it chooses. Warns of donated operands whose memory no
    result can reuse.

    Args:
      operands: the operands.
      results: the results without tokens.
      num_tokens: the number of tokens that precede the results.
    """
    free: dict[Any, list[int]] = {}
    several = any(operand.sharding is not None for operand in operands)
    undecided = several and any(result.sharding is None for result in results)
    for position, result in enumerate(results):
        if not several or result.sharding is not None:
            free.setdefault(_part(result), []).append(position)
    left = []
    for operand in operands:
        if not operand.donated:
            continue
        targets = free.get(_part(operand))
        if targets:
            operand.attributes["tf.aliasing_output"] = mlir.i32(targets.pop(0) + num_tokens)
        else:
            left.append(operand)
    sizes = [_part(results[index])[:1] for positions in free.values() for index in positions]
    unusable = []
    for operand in left:
        size = _part(operand)[:1]
        if undecided or size in sizes:
            if not undecided:
                sizes.remove(size)
            operand.attributes["jax.buffer_donor"] = mlir.boolean(True)
        else:
            unusable.append(operand)
    if unusable:
        shown = ", ".join(_part_aval(operand).str_short() for operand in unusable)
        warn_user(f"Some donated buffers were not usable: {shown}. No result has their size.")


def _part_aval(value: Operand | Result) -> Any:
    """Returns the type of the shard of an operand or result on each device."""
    if value.sharding is None or not hasattr(value.aval, "shape"):
        return value.aval
    return value.aval.update(shape=value.sharding.shard_shape(value.aval.shape), sharding=None)


def _part(value: Operand | Result) -> tuple[Any, ...]:
    """Returns the size, memory space, shape and dtype of the shard on each device."""
    aval = _part_aval(value)
    space = MemorySpace.Host if aval.memory_space is MemorySpace.Host else MemorySpace.Device
    return (math.prod(aval.shape) * aval.dtype.itemsize, space), aval.shape, aval.dtype


def annotate_shardings(
    values: Sequence[Operand | Result], mesh_symbol: Callable[[Any], str]
) -> None:
    """Adds the known shardings of operands or results to their attributes.

    Args:
      values: the operands or results.
      mesh_symbol: a function that returns the symbol of a mesh in the module.
    """
    for value in values:
        if value.sharding is not None:
            symbol = mesh_symbol(value.sharding.mesh)
            value.attributes["sdy.sharding"] = sharding_attribute(
                value.sharding, value.aval, symbol
            )


def annotate_memories(values: Sequence[Operand | Result]) -> None:
    """Marks the operands or results whose types are in host memory."""
    for value in values:
        if getattr(value.aval, "memory_space", None) is MemorySpace.Host:
            value.attributes["mhlo.memory_kind"] = mlir.string(MEMORY_KINDS[MemorySpace.Host])


def annotate_layouts(values: Sequence[Operand | Result]) -> None:
    """Adds the requested layouts of operands or results to their attributes."""
    for value in values:
        layout = value.layout
        if layout is None:
            continue
        layouts_in_use.in_use = True
        text = "auto" if layout is Layout.AUTO else layout._to_xla_layout(value.aval.dtype)
        value.attributes["mhlo.layout_mode"] = mlir.string(text)
        # The compiler decides whether memory can be shared after it has chosen the layouts.
        if value.attributes.pop("tf.aliasing_output", None) is not None:
            value.attributes["jax.buffer_donor"] = mlir.boolean(True)


def annotate_paths(results: Sequence[Result], paths: Sequence[str] | None) -> None:
    """Adds to the attributes of each result its path in the function's result tree, if known."""
    if paths is None or len(paths) != len(results):
        return
    for result, path in zip(results, paths, strict=True):
        result.attributes["jax.result_info"] = mlir.string(path)
