# SPDX-License-Identifier: Apache-2.0
"""Primitives of control flow, and the types of their results.

The parameters hold programs without constants. All inputs of the programs are operands of the
equation. Values that a traced function closes over are the first operands.
"""

from __future__ import annotations

from typing import Any

from ...programs.olympuspr import ClosedOlympuspr
from ...programs.primitives import instruction
from ...types import known_types
from ...types.avals import AbstractValue, ShapedArray
from ...types.effects import no_effects
from ...types.layouts import with_dimension, without_dimension
from .operands import ScanLayout

# Runs one of several programs, chosen by an index:
#   outs = cond[branches] index *operands
cond_p = instruction("cond", multiple_results=True, family="control_flow", cache_inference=False)

# Runs a program while another program returns true:
#   outs = while[cond_jaxpr cond_nconsts body_jaxpr body_nconsts] *cond_consts *body_consts *carry
# The parameter `checkpoints` exists only if the loop has a reverse mode, and `batch` only if `vmap`
# must not keep finished examples in the batch. Under `vmap` the condition may return a boolean for
# each example; see `predicates`.
while_p = instruction("while", multiple_results=True, family="control_flow", cache_inference=False)

# Runs a program on each slice along the first dimension and passes a carry on:
#   *carry, *ys = scan[jaxpr length reverse num_consts num_carry unroll] *consts *carry *xs
# The parameter `checkpoints` exists only if reverse mode recomputes states.
scan_p = instruction("scan", multiple_results=True, family="control_flow", cache_inference=False)


for _primitive in (
    cond_p,
    while_p,
    scan_p,
):
    # The programs determine the types of the results, and the mesh axes over which the results
    # vary.
    _primitive.spreads_varying = False


@cond_p.def_effectful_abstract_eval
def _cond_types(
    index: ShapedArray,
    *operands: AbstractValue,
    branches: tuple[ClosedOlympuspr, ...],
    **params: Any,
) -> tuple[list[AbstractValue], frozenset]:
    effects = no_effects
    for branch in branches:
        effects |= branch.effects
    return branches[0].out_avals, effects


@while_p.def_effectful_abstract_eval
def _while_types(
    *operands: AbstractValue,
    cond_jaxpr: ClosedOlympuspr,
    cond_nconsts: int,
    body_jaxpr: ClosedOlympuspr,
    body_nconsts: int,
    **params: Any,
) -> tuple[list[AbstractValue], frozenset]:
    return body_jaxpr.out_avals, cond_jaxpr.effects | body_jaxpr.effects


@scan_p.def_effectful_abstract_eval
def _scan_types(
    *operands: AbstractValue,
    jaxpr: ClosedOlympuspr,
    length: int,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> tuple[list[AbstractValue], frozenset]:
    carry, ys = ScanLayout(num_consts, num_carry).results(jaxpr.out_avals)
    return [*carry, *(stacked_aval(aval, length) for aval in ys)], jaxpr.effects


def stacked_aval(aval: Any, length: int) -> Any:
    """Returns the type of ``length`` stacked values; the new dimension is the first."""
    if known_types.is_high(aval):
        return aval.inc_rank(length, aval.leading_axis_spec())
    if aval.layout is None:
        return aval.update(shape=(length, *aval.shape))
    return aval.update(shape=(length, *aval.shape), sharding=with_dimension(aval.layout, 0))


def sliced_aval(aval: Any) -> Any:
    """Returns the type of one slice along the first dimension.

    For a reference, returns the type of a reference to one slice.

    Raises:
      ValueError: if the first dimension is split over mesh axes.
    """
    if known_types.is_high(aval):
        return aval.dec_rank(aval.lo_ty()[0].shape[0], aval.leading_axis_spec())
    if aval.is_ref:
        return aval.update(inner_aval=sliced_aval(aval.inner_aval))
    if aval.layout is None:
        return aval.update(shape=aval.shape[1:])
    if aval.layout.spec.partitions[0] is not None:
        raise ValueError(
            f"0th dimension of all xs should be replicated. Got {aval.layout.spec}. Use `reshard` "
            "to change the sharding."
        )
    return aval.update(shape=aval.shape[1:], sharding=without_dimension(aval.layout, 0))
