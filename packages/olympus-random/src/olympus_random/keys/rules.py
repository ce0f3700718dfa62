# SPDX-License-Identifier: Apache-2.0
"""Rules of the primitives on keys: propagation, reuse of keys, batching, differentiation."""

from __future__ import annotations

from typing import Any

from olympus_autodiff.tables import jvp_rules
from olympus_batching.tables import align, batching_rules, to_front, unary
from olympus_ir import lax
from olympus_ir.programs.key_rules import consume_operands, key_rules
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.propagation import Propagation, elementwise_split, propagation_rules
from olympus_ir.types.layouts import entries_of

from ..generators.threefry import threefry2x32_p
from .primitives import (
    random_bits_p,
    random_clone_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
    random_unwrap_p,
    random_wrap_p,
)

# ---- propagation over explicit axes of a mesh ----


def _operand_sharding(operands: Any, results: Any, **params: Any) -> Any:
    """Propagates the sharding of the operand's dimensions; appended dimensions are not sharded."""
    entries = entries_of(operands[0])
    return (*entries, *(None,) * results[0].ndim)[: results[0].ndim]


def _threefry2x32_shardings(operands: Any, results: Any) -> list[Any]:
    """Propagates shardings through an elementwise operation with several results."""
    entries = elementwise_split("threefry2x32")(operands, results)
    return [entries] * len(results)


for _primitive in (
    random_seed_p,
    random_split_p,
    random_bits_p,
    random_wrap_p,
    random_unwrap_p,
    random_clone_p,
):
    propagation_rules.define(_primitive, Propagation(_operand_sharding))
propagation_rules.define(random_fold_in_p, Propagation(elementwise_split("random_fold_in")))
propagation_rules.define(threefry2x32_p, Propagation(_threefry2x32_shardings))

# ---- reuse of keys ----

key_rules.define(random_bits_p, consume_operands)
key_rules.define(random_split_p, consume_operands)

# ---- batching ----


def _front_batching(primitive: Primitive) -> Any:
    """Returns the batching rule of a primitive that appends dimensions to those of the operand."""

    def rule(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
        return primitive.bind(to_front(args[0], batch_dims[0]), **params), 0

    return rule


for _primitive in (random_seed_p, random_clone_p, random_unwrap_p):
    batching_rules.define(_primitive, unary(_primitive))
for _primitive in (random_split_p, random_bits_p, random_wrap_p):
    batching_rules.define(_primitive, _front_batching(_primitive))


@batching_rules.define(random_fold_in_p)
def _fold_in(axis_size: int, args: Any, batch_dims: Any) -> Any:
    operands, dim = align(axis_size, args, batch_dims)
    shape = next(operand.shape for operand in operands if operand.ndim)
    full = [
        operand
        if operand.shape in ((), shape)
        else lax.broadcast_in_dim(operand, shape, tuple(range(len(shape))))
        for operand in operands
    ]
    return random_fold_in_p.bind(*full), dim


@batching_rules.define(threefry2x32_p)
def _threefry2x32(axis_size: int, args: Any, batch_dims: Any) -> Any:
    operands, dim = align(axis_size, args, batch_dims)
    return threefry2x32_p.bind(*operands), [dim, dim]


# ---- differentiation ----

for _primitive in (
    random_bits_p,
    random_clone_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
    random_unwrap_p,
    random_wrap_p,
    threefry2x32_p,
):
    _reason = "keys, seeds and random bits have no tangent space"
    jvp_rules.exempt(_primitive, reason=_reason)
