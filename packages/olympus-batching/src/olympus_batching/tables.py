# SPDX-License-Identifier: Apache-2.0
"""The tables of batching rules, and the combinators that fill them.

A batching rule `(axis_size, args, batch_dims, **params) -> (out, out_dim)` applies its primitive to
operands. A batched operand holds all examples in dimension ``batch_dims[i]``. The examples share an
operand whose batch dimension is None. For primitives with several results, ``out`` and ``out_dim``
are lists. Rules run under the trace that encloses the `vmap`, so they may call any function of
`lax`.

Some primitives depend on the mapped axis itself, not only on its size. They are collectives, and
calls of programs that may use the axis's name. Their rules are in `axis_rules` and have the form
`(axis, args, batch_dims, **params)`, where ``axis`` is a `BatchAxis`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.rules import RuleTable
from olympus_ir.types.avals import get_aval

from .dimensions import (
    BatchAxis,
    BatchDim,
    all_at,
    all_shifted,
    batched_sharding,
    broadcast_batch,
    first_batched,
    materialize,
    move_batch_dim,
    move_dim,
    ndim_of,
    not_mapped,
    rank_of,
    shape_of,
    shifted,
    to_front,
    unbatched_aval,
)

__all__ = [
    "BatchAxis",
    "BatchDim",
    "BatchingRule",
    "align",
    "all_at",
    "all_shifted",
    "along_axis",
    "along_dimension",
    "axis_rules",
    "batched_sharding",
    "batching_rules",
    "broadcast_batch",
    "check_examples",
    "collective_batching_rules",
    "define_axis_rule",
    "elementwise",
    "first_batched",
    "materialize",
    "move_batch_dim",
    "move_dim",
    "ndim_of",
    "not_mapped",
    "rank_of",
    "reduction",
    "same_shape_elementwise",
    "shape_of",
    "shifted",
    "to_front",
    "unary",
]

BatchingRule: TypeAlias = Callable[..., tuple[Any, Any]]

batching_rules: RuleTable[BatchingRule] = RuleTable(
    "batching", package="olympus_batching", expands=True
)

# Rules of primitives that depend on the axis itself; see the module's docstring. Each primitive
# also has a rule in `batching_rules`, for an axis without a name.
axis_rules: RuleTable[BatchingRule] = RuleTable("named-axis batching", package="olympus_batching")

# Rules of collectives over the mapped axis, in the form of the rules in `axis_rules`. The rules
# eliminate the mapped axis and leave other axes to the outer traces.
collective_batching_rules: RuleTable[BatchingRule] = RuleTable(
    "collective batching", package="olympus_batching"
)


def define_axis_rule(primitive: Primitive, rule: BatchingRule | None = None) -> Any:
    """Defines a rule that depends on the axis itself. Without ``rule``, returns a decorator."""
    if rule is None:
        return lambda function: (define_axis_rule(primitive, function), function)[1]
    axis_rules.define(primitive, rule)

    def rule_of_size(axis_size: int, args: Any, batch_dims: Any, /, **params: Any) -> Any:
        return rule(BatchAxis(axis_size), args, batch_dims, **params)

    batching_rules.define(primitive, rule_of_size, derived="from its named-axis batching rule")
    return None


# ---- combinators ----


def unary(primitive: Primitive) -> BatchingRule:
    """Returns the rule of a one-operand primitive that an added dimension does not affect."""

    def rule(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
        if params.get("sharding") is not None:
            params["sharding"] = batched_sharding(params["sharding"], batch_dims[0])
        return primitive.bind(args[0], **params), batch_dims[0]

    return rule


def check_examples(
    primitive: Primitive, args: Sequence[Any], batch_dims: Sequence[BatchDim], params: Any
) -> None:
    """Raises the error of a primitive for one example, if it refuses the example."""
    primitive.infer(
        tuple(
            unbatched_aval(get_aval(arg), dim) for arg, dim in zip(args, batch_dims, strict=True)
        ),
        params,
    )


def elementwise(primitive: Primitive) -> BatchingRule:
    """Returns the rule of an elementwise primitive that broadcasts scalars and sizes of one."""

    def rule(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
        if len(args) == 1:
            return primitive.bind(args[0], **params), batch_dims[0]
        operands, out_dim = align(axis_size, args, batch_dims)
        return primitive.bind(*operands, **params), out_dim

    return rule


@batching_rules.derive("its declaration as elementwise")
def _of_elementwise(primitive: Primitive) -> BatchingRule | None:
    return elementwise(primitive) if primitive.elementwise else None


def align(axis_size: int, args: Sequence[Any], batch_dims: Sequence[BatchDim]) -> Any:
    """Returns the operands of an elementwise operation with a common batch dimension.

    Elementwise operations broadcast scalars and dimensions of size one. An unbatched operand that
    is not a scalar therefore gets a batch dimension of size one. A batched scalar gets dimensions
    of size one.

    Returns:
      The operands and their common batch dimension.
    """
    target = None
    ndim = 0
    for arg, dim in zip(args, batch_dims, strict=True):
        if dim is not None:
            if target is None:
                target, ndim = dim, arg.ndim
            elif dim != target or arg.ndim != ndim:
                break
        elif ndim_of(arg):
            break
    else:
        # All batched operands have the same batch dimension and rank. The other operands are
        # scalars.
        return args, target
    ranks = [rank_of(arg, dim) for arg, dim in zip(args, batch_dims, strict=True)]
    rank = max(ranks)
    target = _place_in_common(ranks, batch_dims, rank)
    operands = []
    for arg, dim, own_rank in zip(args, batch_dims, ranks, strict=True):
        if dim is None:
            if own_rank:
                arg = lax.expand_dims(arg, (min(target, own_rank),))
        elif not own_rank and rank:
            arg = lax.expand_dims(arg, tuple(i for i in range(rank + 1) if i != target))
        else:  # the primitive refuses an example of another rank that is no scalar
            arg = move_dim(arg, dim, min(target, own_rank))
        operands.append(arg)
    return operands, target


def _place_in_common(ranks: Sequence[int], batch_dims: Sequence[BatchDim], rank: int) -> int:
    """Returns the batch dimension of the first batched operand of full rank, else 0."""
    for own_rank, dim in zip(ranks, batch_dims, strict=True):
        if dim is not None and own_rank == rank:
            return dim
    return 0


def same_shape_elementwise(primitive: Primitive, scalars: Sequence[int] = ()) -> BatchingRule:
    """Returns the rule of an elementwise primitive that broadcasts scalars at some positions only.

    Args:
      primitive: the primitive.
      scalars: the positions where an operand may be a scalar. The other operands have the same
        shape.
    """

    def rule(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
        ranks = [rank_of(arg, dim) for arg, dim in zip(args, batch_dims, strict=True)]
        rank = max(ranks)
        target = _place_in_common(ranks, batch_dims, rank)
        operands = list(args)
        shape: tuple[int, ...] = ()
        for position, (arg, dim) in enumerate(zip(args, batch_dims, strict=True)):
            shared_scalar = dim is None and ranks[position] == 0 and position in scalars
            if ranks[position] == rank and not shared_scalar:
                operands[position] = materialize(arg, axis_size, dim, target)
                shape = operands[position].shape
        for position, dim in enumerate(batch_dims):
            if dim is not None and ranks[position] < rank:
                operands[position] = lax.broadcast_in_dim(operands[position], shape, (target,))
        return primitive.bind(*operands, **params), target

    return rule


def reduction(primitive: Primitive) -> BatchingRule:
    """Returns the rule of a primitive that reduces one operand over the parameter ``axes``."""

    def rule(axis_size: int, args: Any, batch_dims: Any, *, axes: Any, **params: Any) -> Any:
        (operand,), (dim,) = args, batch_dims
        axes = all_shifted(axes, dim)
        out_dim = dim - sum([axis < dim for axis in axes])
        if params.get("out_sharding") is not None:
            params["out_sharding"] = batched_sharding(params["out_sharding"], out_dim)
        return primitive.bind(operand, axes=axes, **params), out_dim

    return rule


def _along(primitive: Primitive, parameter: str) -> BatchingRule:
    def rule(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
        dim = first_batched(batch_dims)
        operands = args if len(args) == 1 else all_at(args, axis_size, batch_dims, dim)
        params[parameter] = shifted(params[parameter], dim)
        out = primitive.bind(*operands, **params)
        return out, [dim] * len(out) if primitive.multiple_results else dim

    return rule


def along_axis(primitive: Primitive) -> BatchingRule:
    """Returns the rule of a primitive that works along parameter ``axis`` and keeps the rank."""
    return _along(primitive, "axis")


def along_dimension(primitive: Primitive) -> BatchingRule:
    """Returns the rule of a primitive that works along ``dimension`` and keeps the rank."""
    return _along(primitive, "dimension")
