# SPDX-License-Identifier: Apache-2.0
"""Table of propagation rules, and helpers for writing rules.

A rule takes the types of the operands with layouts, and the types of the results without layouts.
It returns one partition entry for each dimension of a result: the mesh axis (or a tuple of them)
over which the dimension is sharded, or None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ..diagnostics.errors import ShardingTypeError
from ..types.layouts import axes_of_entry, entries_of, mesh_in_force, replicated
from ..types.placement import NamedSharding
from .rules import RuleTable

__all__ = [
    "Entries",
    "Propagation",
    "Split",
    "alike",
    "declared_types",
    "elementwise_rule",
    "elementwise_split",
    "layout_of",
    "parts_of",
    "propagation_rules",
    "refuse_ragged_parts",
    "same_entries",
    "sharding_text",
]

Entries: TypeAlias = Sequence[Any]
Split: TypeAlias = Callable[..., Any]


class Propagation:
    """Propagation rule, which infers the layouts of a primitive's results from its operands.

    Attributes:
      split: function `(operands, results, **params)` that returns the partition entries of the
        result, or a list of entries if there are several results.
      unreduced: function `(operands, results, requested, **params)` that returns the axes over
        which the result is unreduced. The function is called if operands are unreduced, or if the
        program requests an unreduced result. None rejects unreduced operands and such requests.
      reduced: whether the result is reduced over the axes that the operands are reduced over. None
        rejects reduced operands.
      parameter: the name of the parameter that requests a layout; "" for none.
      infer: function `(types of the operands, params)` that returns the types of the results with
        their layouts, and the effects. With ``infer``, the other attributes are not used.
    """

    __slots__ = ("infer", "parameter", "reduced", "split", "unreduced")

    def __init__(
        self,
        split: Split | None,
        *,
        unreduced: Callable[..., frozenset] | None = None,
        reduced: bool | None = None,
        parameter: str = "",
        infer: Callable[..., tuple[tuple[Any, ...], frozenset]] | None = None,
    ) -> None:
        self.split = split
        self.unreduced = unreduced
        self.reduced = reduced
        self.parameter = parameter
        self.infer = infer


# Rule of primitives whose parameters determine the types of the results.
declared_types = Propagation(None)

propagation_rules: RuleTable[Any] = RuleTable(
    "propagation", package="olympus_ir", folder="propagation"
)

_FAMILIES_OF_DECLARED_TYPES = frozenset(
    {
        "annotations",
        "calls",
        "buffer_callbacks",
        "callbacks",
        "control_flow",
        "export",
        "ffi",
        "references",
        "tokens",
    }
)


@propagation_rules.derive("its family, whose results have declared types")
def _of_declared_types(primitive: Any) -> Propagation | None:
    return declared_types if primitive.family in _FAMILIES_OF_DECLARED_TYPES else None


@propagation_rules.derive("its declaration as elementwise")
def _of_elementwise(primitive: Any) -> Propagation | None:
    return elementwise_rule(primitive) if primitive.elementwise else None


def layout_of(operands: Sequence[Any]) -> NamedSharding:
    """Returns the layout of the first operand that has one."""
    return next(aval.layout for aval in operands if aval.layout is not None)


def sharding_text(aval: Any, operands: Sequence[Any]) -> str:
    """Formats a type's sharding over the mesh of the operands."""
    if aval.layout is not None:
        return str(aval.layout)
    return str(replicated(aval.ndim, layout_of(operands).mesh))


def parts_of(entry: Any, mesh: Any) -> int:
    """Returns the number of shards into which a partition entry splits a dimension."""
    sizes = mesh.shape
    return math.prod(sizes[axis] for axis in axes_of_entry(entry))


def same_entries(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Entries:
    """Returns the first operand's entries, so that the result is sharded like this operand."""
    return entries_of(operands[0])


def elementwise_split(name: str) -> Any:
    """Returns the `split` function of an elementwise operation, which may broadcast operands."""

    def split(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Entries:
        ndim = results[0].ndim
        full = [aval for aval in operands if aval.ndim == ndim]
        entries: list[Any] = [None] * ndim
        for aval in full:
            if aval.layout is None:
                continue
            for dimension, entry in enumerate(aval.layout.spec.partitions):
                if entry is None or entries[dimension] == entry:
                    continue
                if entries[dimension] is not None:
                    shown = ", ".join(dict.fromkeys(str(entries_of(sharding)) for sharding in full))
                    raise ShardingTypeError(
                        f"{name} got incompatible shardings for broadcasting: {shown}."
                    )
                entries[dimension] = entry
        return entries

    return split


def elementwise_rule(
    primitive: Any, unreduced: Callable[..., frozenset] | None = None
) -> Propagation:
    """Returns the rule of an elementwise primitive; see `Propagation` for ``unreduced``."""
    return Propagation(elementwise_split(primitive.name), unreduced=unreduced, reduced=True)


def alike(operands: Sequence[Any]) -> Any:
    """Returns the type whose layout all operands have, or take.

    If no mesh is in force, an operand without a layout may come from outside of the mesh of the
    others, and is sharded as they are.

    Raises:
      ShardingTypeError: the operands are sharded differently.
    """
    known = list(operands)
    if not mesh_in_force().axis_names:
        known = [aval for aval in operands if aval.layout is not None] or known
    if any(aval.layout is not known[0].layout for aval in known):
        shown = ", ".join(sharding_text(aval, operands) for aval in operands)
        raise ShardingTypeError(
            f"All operands should have the same sharding. Got shardings {shown}"
        )
    return known[0]


def refuse_ragged_parts(
    name: str, operands: Sequence[Any], shape: Sequence[Any], entries: Entries, mesh: Any
) -> None:
    """Raises ShardingTypeError if mesh axes do not divide the changed size of a dimension."""
    before = operands[0].shape
    for old, new, entry in zip(before, shape, entries, strict=True):
        parts = parts_of(entry, mesh)
        if parts > 1 and old != new and new % parts:
            raise ShardingTypeError(
                f"{name} on sharded dims where out dim ({new}) is not divisible by mesh axes "
                f"({parts}) with spec ({','.join(map(str, axes_of_entry(entry)))}) is not "
                f"implemented. Got input type={operands[0].str_short(True)} and output "
                f"shape={tuple(shape)}"
            )
