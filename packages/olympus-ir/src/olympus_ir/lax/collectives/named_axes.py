# SPDX-License-Identifier: Apache-2.0
"""Named axes in scope, their sizes, and the variation of values over them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...diagnostics.errors import ShardingTypeError
from ...programs import staging
from ...programs.primitives import instruction
from ...programs.tracing import current
from ...trees import pytrees
from ...types.annotations import PyTree
from ...types.avals import ShapedArray, get_aval
from ...types.effects import NamedAxisEffect
from . import partial_sums

__all__ = ["axis_size", "psum_invariant_p", "pvary", "pvary_p"]

AxisName = Any
Groups = Sequence[Sequence[int]] | None

# Conversions for types that track the axes over which values vary. A sum over axes gives a
# replicated value; `pvary` casts a replicated value to varying. The two conversions are transposes
# of each other.
psum_invariant_p = instruction("psum_invariant", family="collectives")
pvary_p = instruction("pvary", family="collectives")
for _primitive in (psum_invariant_p, pvary_p):
    _primitive.linear_in = True
    _primitive.spreads_varying = False


def axis_names(axis_name: AxisName) -> tuple:
    """Converts one name or a tuple of names to a tuple."""
    return tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)


def is_positional(axis: AxisName) -> bool:
    """Returns whether an axis is a dimension of the operand rather than a name."""
    return type(axis) is int


def axis_size(axis_name: AxisName) -> int:
    """Returns the size of a named axis, or the product of the sizes of several.

    Args:
      axis_name: a name or a tuple of names.

    Returns:
      A Python integer.

    Raises:
      NameError: if an axis is not bound.

    Example:
      >>> from olympus_ir.programs.make import make_olympuspr
      >>> make_olympuspr(lambda: axis_size("i"), axis_env=[("i", 4)])()
      { lambda ; . let  in (4:i32[],) }
    """
    return math.prod(current.axes.size(name) for name in axis_names(axis_name))


def named_effects(axes: AxisName) -> frozenset:
    return frozenset(NamedAxisEffect(axis) for axis in axis_names(axes) if not is_positional(axis))


def checked_groups(groups: Groups, axes: tuple) -> tuple | None:
    """Converts groups to tuples. Checks that each index of the axis is in exactly one group.

    Raises:
      ValueError: if an index is missing or repeated.
    """
    if groups is None:
        return None
    groups = tuple(tuple(group) for group in groups)
    size = axis_size(axes)
    if sorted(index for group in groups for index in group) != list(range(size)):
        raise ValueError(
            f"axis_index_groups must cover all indices exactly once: the axis {axes} has the "
            f"indices 0 to {size - 1}, the groups are {groups}"
        )
    return groups


def group_size(groups: tuple | None, axes: tuple) -> int:
    if groups is None:
        return axis_size(axes)
    sizes = {len(group) for group in groups}
    if len(sizes) > 1:
        raise ValueError(f"axis_index_groups must all be of the same size, got {groups}")
    return sizes.pop()


# ---- variation over mesh axes ----


@pvary_p.def_effectful_abstract_eval
def _pvary_type(operand: ShapedArray, *, axes: tuple) -> tuple[ShapedArray, frozenset]:
    already = operand.vma.intersection(axes)
    if already:
        raise ValueError(
            f"pvary: {operand.str_short(True)} varies over {sorted(map(str, already))} already"
        )
    return operand.update(vma=operand.vma.union(axes)), named_effects(axes)


def _apply_pvary(operands: Any, params: dict[str, Any]) -> list[Any]:
    # A program may be evaluated with values that vary over more axes than during tracing. Cast only
    # over axes over which the operand does not vary yet.
    varying = get_aval(operands[0]).vma
    axes = tuple(axis for axis in params["axes"] if axis not in varying)
    return [pvary_p.bind(operands[0], axes=axes) if axes else operands[0]]


pvary_p.bind_equation = _apply_pvary


@psum_invariant_p.def_effectful_abstract_eval
def _psum_invariant_type(
    operand: ShapedArray, *, axes: tuple, axis_index_groups: tuple | None = None
) -> tuple[ShapedArray, frozenset]:
    missing = frozenset(axes) - operand.vma
    if missing:
        raise ValueError(
            f"psum over {axes} of {operand.str_short(True)}, which does not vary over "
            f"{sorted(map(str, missing))}"
        )
    return operand.update(vma=operand.vma.difference(axes)), named_effects(axes)


def pvary(x: PyTree, axis_name: AxisName) -> PyTree:
    """Casts replicated values to varying along named axes.

    The cast computes nothing. Its transpose is the sum over the axes.

    Args:
      x: an array or a pytree of arrays.
      axis_name: a name or a tuple of names.

    Returns:
      A pytree of the structure of ``x``.

    Raises:
      NameError: if an axis is not bound.

    Example:
      >>> import olympus
      >>> from olympus import P
      >>> mesh = olympus.make_mesh((1,), ("i",))
      >>> f = olympus.shard_map(lambda x: pvary(x, "i"), mesh=mesh, in_specs=P(), out_specs=P("i"))
      >>> f(olympus.numpy.ones(2))
      Array([1., 1.], dtype=float32)
    """
    names = axis_names(axis_name)
    for name in names:
        current.axes.size(name)
    tracked = [
        name for name in current.axes.sizes if name in names and name in current.axes.varying
    ]

    def of_leaf(leaf: Any) -> Any:
        aval = get_aval(leaf)
        if aval.layout is not None:
            reduced = tuple(name for name in tracked if name in aval.layout.spec.reduced)
            if reduced:
                leaf = partial_sums.operation("as_varying")(leaf, reduced)
            elif not aval.layout.spec.unreduced.isdisjoint(tracked):
                raise ShardingTypeError(
                    f"{aval.str_short(True)} is unreduced and is combined with values that vary "
                    "along the same axes. Sum it first, with psum or psum_scatter."
                )
        axes = tuple(name for name in tracked if name not in get_aval(leaf).vma)
        return pvary_p.bind(leaf, axes=axes) if axes else leaf

    return pytrees.tree_map(of_leaf, x)


staging.install_pvary(pvary)
