# SPDX-License-Identifier: Apache-2.0
"""Operands and results of the rules of the roofline model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.rules import RuleTable

__all__ = [
    "RooflineResult",
    "RooflineRuleContext",
    "RooflineShape",
    "elementwise",
    "free",
    "moved_bytes",
    "register_roofline",
    "register_standard_roofline",
    "roofline_rules",
    "unfused",
]


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class RooflineShape:
    """Shape and dtype of an operand.

    Attributes:
      shape: the sizes of its dimensions.
      dtype: the dtype.
    """

    shape: tuple[int, ...]
    dtype: Any

    @classmethod
    def from_aval(cls, aval: Any) -> RooflineShape:
        """Returns the shape and dtype of a type."""
        return cls(shape=tuple(aval.shape), dtype=aval.dtype)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """The number of bytes of the elements."""
        return self.size * np.dtype(self.dtype).itemsize

    @classmethod
    def total_bytes(cls, avals: Sequence[Any]) -> int:
        """Returns the total number of bytes of values of the given types."""
        return sum(
            cls.from_aval(aval).bytes
            for aval in avals
            if hasattr(getattr(aval, "dtype", None), "kind")
        )


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class RooflineResult:
    """Cost of a function: operations, memory traffic, communication.

    Attributes:
      flops: arithmetic operations; elementwise operations are fused and cost nothing.
      unfused_flops: all arithmetic operations.
      ici_bytes: for each mesh axis the bytes sent along it.
      ici_latency: for each mesh axis the number of sequential hops.
      hbm_bytes: bytes read from and written to memory, if elementwise operations are fused.
      peak_hbm_bytes: the most bytes that values occupy between two operations.
      unfused_hbm_bytes: bytes read and written if no operation is fused.
    """

    flops: int = 0
    unfused_flops: int = 0
    ici_bytes: dict[str, int] = dataclasses.field(default_factory=dict)
    ici_latency: dict[str, int] = dataclasses.field(default_factory=dict)
    hbm_bytes: int = 0
    peak_hbm_bytes: int = 0
    unfused_hbm_bytes: int = 0

    @classmethod
    def zeros(cls) -> RooflineResult:
        """Returns a cost of zero."""
        return cls()

    def __add__(self, other: RooflineResult) -> RooflineResult:
        return RooflineResult(
            flops=self.flops + other.flops,
            unfused_flops=self.unfused_flops + other.unfused_flops,
            ici_bytes=_added(self.ici_bytes, other.ici_bytes),
            ici_latency=_added(self.ici_latency, other.ici_latency),
            hbm_bytes=self.hbm_bytes + other.hbm_bytes,
            peak_hbm_bytes=max(self.peak_hbm_bytes, other.peak_hbm_bytes),
            unfused_hbm_bytes=self.unfused_hbm_bytes + other.unfused_hbm_bytes,
        )

    def repeated(self, count: int) -> RooflineResult:
        """Returns the cost of several repetitions."""
        return RooflineResult(
            flops=count * self.flops,
            unfused_flops=count * self.unfused_flops,
            ici_bytes={name: count * size for name, size in self.ici_bytes.items()},
            ici_latency={name: count * hops for name, hops in self.ici_latency.items()},
            hbm_bytes=count * self.hbm_bytes,
            peak_hbm_bytes=self.peak_hbm_bytes,
            unfused_hbm_bytes=count * self.unfused_hbm_bytes,
        )


def _added(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in (*first, *second)}


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class RooflineRuleContext:
    """Context of the operation that a rule estimates.

    Attributes:
      name_stack: the name scopes around the operation.
      primitive: the operation.
      avals_in: the types of its operands.
      avals_out: the types of its results.
      jaxpr_eqn_ctx: the context of its equation.
      mesh: the mesh that the program is partitioned over.
      pin_lhs_in_vmem: whether left factors of products stay in fast memory.
      pin_rhs_in_vmem: whether right factors of products stay in fast memory.
    """

    name_stack: Any
    primitive: Primitive
    avals_in: Sequence[Any]
    avals_out: Sequence[Any]
    jaxpr_eqn_ctx: Any
    mesh: Any
    pin_lhs_in_vmem: bool
    pin_rhs_in_vmem: bool


Rule = Callable[..., RooflineResult]

# Maps a primitive to `rule(context, *shapes of operands, **params)`.
roofline_rules: RuleTable[Rule] = RuleTable(
    "roofline", package="olympus_sharding", folder="roofline.rules"
)


def register_roofline(prim: Primitive) -> Callable[[Rule], Rule]:
    """Returns a decorator that registers a function as the rule of a primitive.

    Args:
      prim: the primitive. The rule takes a `RooflineRuleContext`, a `RooflineShape` for each
        operand, and the primitive's parameters.

    Returns:
      The decorator.

    Example:
      >>> from olympus_ir.programs.primitives import Primitive
      >>> @register_roofline(Primitive("sorted_twice"))
      ... def rule(context, x, **params):
      ...     return RooflineResult(flops=2 * x.size)
    """

    def decorate(rule: Rule) -> Rule:
        roofline_rules[prim] = rule
        return rule

    return decorate


def register_standard_roofline(prim: Primitive) -> None:
    """Registers a rule by which a primitive costs nothing.

    Args:
      prim: the primitive.
    """
    roofline_rules[prim] = free


def free(*operands: Any, **params: Any) -> RooflineResult:
    """Estimates an operation that costs nothing."""
    return RooflineResult.zeros()


def moved_bytes(context: RooflineRuleContext) -> int:
    """Returns the number of bytes of an operation's operands and results."""
    return RooflineShape.total_bytes(context.avals_in) + RooflineShape.total_bytes(
        context.avals_out
    )


def unfused(context: RooflineRuleContext, operations: int) -> RooflineResult:
    """Returns the cost of an operation that costs nothing if it is fused into other operations."""
    return RooflineResult(unfused_flops=operations, unfused_hbm_bytes=moved_bytes(context))


def elementwise(context: RooflineRuleContext, *operands: RooflineShape, **params: Any) -> Any:
    """Estimates an elementwise operation: one arithmetic operation for each element."""
    return unfused(context, RooflineShape.from_aval(context.avals_out[0]).size)


@roofline_rules.derive("its declaration as elementwise")
def _of_elementwise(primitive: Primitive) -> Rule | None:
    return elementwise if primitive.elementwise else None


_FREE_FAMILIES = frozenset({"shaping", "transfer", "tokens", "callbacks"})


@roofline_rules.derive("its family, which costs nothing")
def _of_free_family(primitive: Primitive) -> Rule | None:
    return free if primitive.family in _FREE_FAMILIES else None
