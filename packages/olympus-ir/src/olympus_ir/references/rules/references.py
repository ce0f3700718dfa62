# SPDX-License-Identifier: Apache-2.0
"""Discharge rules of reading and writing references."""

from __future__ import annotations

from typing import Any

from ... import lax
from ...programs.olympuspr import Equation
from ...programs.staging import varying_alike
from ...types.avals import get_aval
from ...types.placement import NamedSharding, PartitionSpec
from ...types.resharding import bind_reshard
from .. import primitives as references
from ..discharge import discharge_rules
from ..discharged_calls import Changes, Operands, unchanged
from ..transforms import accumulated, read_view, written


@discharge_rules.define(references.get_p)
def _get(equation: Equation, operands: Operands) -> Changes:
    array, *leaves = operands
    transforms = references.transforms_of(leaves, equation.params["tree"])
    return unchanged(equation), [read_view(array, transforms)]


@discharge_rules.define(references.swap_p)
def _swap(equation: Equation, operands: Operands) -> Changes:
    array, value, *leaves = operands
    transforms = references.transforms_of(leaves, equation.params["tree"])
    previous = read_view(array, transforms)
    _, value = varying_alike([previous, value])
    changed = written(array, transforms, _typed(value, get_aval(previous)))
    return [_typed(changed, get_aval(array)), *[None] * (len(operands) - 1)], [previous]


@discharge_rules.define(references.addupdate_p)
def _addupdate(equation: Equation, operands: Operands) -> Changes:
    array, value, *leaves = operands
    transforms = references.transforms_of(leaves, equation.params["tree"])
    changed = accumulated(array, transforms, value)
    return [_typed(changed, get_aval(array)), *[None] * (len(operands) - 1)], []


def _typed(value: Any, aval: Any) -> Any:
    """Returns a value with the weak type and the layout of the value it replaces."""
    value_aval = get_aval(value)
    if value_aval.weak_type != aval.weak_type:
        value = lax.convert_dtype(value, aval.dtype, aval.weak_type)
    return _laid_out(value, value_aval.layout, aval.layout)


def _laid_out(value: Any, old_layout: Any, layout: Any) -> Any:
    if old_layout is layout or old_layout == layout:
        return value
    if layout is None:
        layout = NamedSharding(old_layout.mesh, PartitionSpec())
    return bind_reshard(value, layout)


@discharge_rules.define(references.new_ref_p)
def _new_ref(equation: Equation, operands: Operands) -> Changes:
    return [None], operands


@discharge_rules.define(references.empty_ref_p)
def _empty_ref(equation: Equation, operands: Operands) -> Changes:
    ty = equation.params["ty"]
    return [], [lax.empty(ty.shape, ty.dtype)]


@discharge_rules.define(references.freeze_p)
def _freeze(equation: Equation, operands: Operands) -> Changes:
    return [None], operands


@discharge_rules.define(references.free_ref_p)
def _free_ref(equation: Equation, operands: Operands) -> Changes:
    return [None], []
