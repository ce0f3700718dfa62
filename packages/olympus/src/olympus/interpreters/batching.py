# SPDX-License-Identifier: Apache-2.0
"""Batching: the tables of rules in JAX's three forms, and functions that define rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any

from olympus_batching import tables
from olympus_batching.dimensions import BatchAxis, materialize, shifted, to_front
from olympus_batching.dimensions import not_mapped as not_mapped
from olympus_batching.trace import BatchTrace as BatchTrace
from olympus_batching.tracers import BatchTracer as BatchTracer
from olympus_batching.vmappables import register_vmappable as register_vmappable
from olympus_batching.vmappables import spec_types as spec_types
from olympus_batching.vmappables import unregister_vmappable as unregister_vmappable
from olympus_ir.programs.primitives import Primitive

from .. import _lazy

Rule = Callable[..., Any]

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {})


class _Face(MutableMapping[Primitive, Rule]):
    """Dictionary view that converts the batching rules to another signature.

    Reading a rule that was assigned through this view returns the assigned rule itself.
    """

    # The table that stores the rules assigned through this view.
    _own_table = tables.batching_rules

    def __init__(self) -> None:
        self._given: dict[Primitive, tuple[Rule, Rule]] = {}  # the rules as assigned and as stored

    def __getitem__(self, primitive: Primitive) -> Rule:
        given = self._given.get(primitive)
        if given is not None and self._own_table.get(primitive) is given[1]:
            return given[0]
        axis_rule = tables.axis_rules.get(primitive)
        if axis_rule is not None:
            return self._from_axis_rule(axis_rule)
        rule = tables.batching_rules.get(primitive)
        if rule is None:
            raise KeyError(primitive)
        return self._from_axis_rule(
            lambda axis, args, dims, **params: rule(axis.size, args, dims, **params)
        )

    def __setitem__(self, primitive: Primitive, rule: Rule) -> None:
        del self[primitive]
        entered = self._entered(rule)
        self._given[primitive] = rule, entered
        self._own_table[primitive] = entered

    def __delitem__(self, primitive: Primitive) -> None:
        for table in (tables.batching_rules, tables.axis_rules):
            table.pop(primitive, None)

    def __contains__(self, primitive: object) -> bool:
        return primitive in tables.batching_rules or primitive in tables.axis_rules

    def __iter__(self) -> Iterator[Primitive]:
        return iter({**dict(tables.batching_rules.items()), **dict(tables.axis_rules.items())})

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _entered(self, rule: Rule) -> Rule:
        """Converts an assigned rule to the signature of ``_own_table``."""
        raise NotImplementedError(f"{type(self).__name__} must define _entered")

    def _from_axis_rule(self, rule: Rule) -> Rule:
        """Converts a rule ``(axis, args, dims, **params)`` to the signature of this view."""
        raise NotImplementedError(f"{type(self).__name__} must define _from_axis_rule")


class _PlainRules(_Face):
    """View of the rules as functions ``(args, dims, **params)``."""

    def _entered(self, rule: Rule) -> Rule:
        return lambda _, args, dims, **params: rule(args, dims, **params)

    def _from_axis_rule(self, rule: Rule) -> Rule:
        return lambda args, dims, **params: rule(
            BatchAxis(_axis_size(args, dims)), args, dims, **params
        )


class _FancyRules(_Face):
    """View of the rules as functions ``(axis_data, args, dims, **params)``."""

    _own_table = tables.axis_rules

    def _entered(self, rule: Rule) -> Rule:
        return rule

    def _from_axis_rule(self, rule: Rule) -> Rule:
        return rule


class _AxisRules(_FancyRules):
    """View of the rules as ``(axis_size, axis_name, trace_type, args, dims, **params)``."""

    def _entered(self, rule: Rule) -> Rule:
        return lambda axis, args, dims, **params: rule(
            axis.size, axis.name, None, args, dims, **params
        )

    def _from_axis_rule(self, rule: Rule) -> Rule:
        return lambda size, name, _, args, dims, **params: rule(
            BatchAxis(size, name), args, dims, **params
        )


primitive_batchers = _PlainRules()
fancy_primitive_batchers = _FancyRules()
axis_primitive_batchers = _AxisRules()


def _axis_size(args: Sequence[Any], dims: Sequence[Any]) -> int:
    return next(arg.shape[dim] for arg, dim in zip(args, dims, strict=True) if dim is not None)


def broadcast(x: Any, sz: int, axis: int, mesh_axis: Any) -> Any:
    """Repeats a value along a new dimension.

    Args:
      x: the value.
      sz: the size of the dimension.
      axis: the position of the new dimension.
      mesh_axis: the explicit mesh axis of the new dimension; must be None.

    Returns:
      An array with one dimension more.
    """
    if mesh_axis is not None:
        raise ValueError(
            "broadcasting over an explicit mesh axis is not supported: use vmap with spmd_axis_name"
        )
    return materialize(x, sz, None, axis)


def bdim_at_front(x: Any, bdim: int | None, size: int, mesh_axis: Any = None) -> Any:
    """Moves the batch dimension to the front, or adds one if the value is not batched."""
    if bdim is None:
        return broadcast(x, size, 0, mesh_axis)
    return to_front(x, bdim)


def defvectorized(prim: Primitive) -> None:
    """Registers the batching rule of an elementwise primitive with one operand."""
    tables.batching_rules[prim] = tables.unary(prim)


def defbroadcasting(prim: Primitive) -> None:
    """Registers the batching rule of an elementwise primitive with several operands."""
    tables.batching_rules[prim] = tables.elementwise(prim)


def defreducer(prim: Primitive) -> None:
    """Registers the batching rule of a reduction of one operand over its parameter ``axes``."""
    tables.batching_rules[prim] = tables.reduction(prim)


__all__ = [
    "BatchTrace",
    "BatchTracer",
    "axis_primitive_batchers",
    "bdim_at_front",
    "broadcast",
    "defbroadcasting",
    "defreducer",
    "defvectorized",
    "fancy_primitive_batchers",
    "not_mapped",
    "primitive_batchers",
    "register_vmappable",
    "shifted",
    "spec_types",
    "unregister_vmappable",
]
