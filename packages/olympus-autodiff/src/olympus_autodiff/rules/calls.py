# SPDX-License-Identifier: Apache-2.0
"""Derivatives of calls. The derivative of the called program is memoized."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any

from olympus_batching.custom_batching import custom_vmap_call_p
from olympus_ir import lax
from olympus_ir.loading import deferred
from olympus_ir.programs.evaluation import olympuspr_as_fun
from olympus_ir.programs.olympuspr import ClosedOlympuspr, close_olympuspr, constants_as_inputs
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.tracing import set_current_trace
from olympus_ir.trees import pytrees
from olympus_ir.types.placement import UNSPECIFIED

from ..custom.vmap_rules import JvpOfVmapRule
from ..forward.jvp import jvp_flat, jvp_olympuspr
from ..forward.linearize import LinearizeTrace
from ..forward.linearized_programs import linearize_olympuspr
from ..reverse.transpose import transpose_olympuspr
from ..tables import jvp_rules, linearize_rules, transpose_rules
from ..zeros import Zero, aval_of, can_move, instantiate, is_undefined_primal

if TYPE_CHECKING:
    from ..rematerialization import checkpoint
else:
    checkpoint = deferred("..rematerialization.checkpoint", milliseconds=1.5)

# For each operand and result of a derived call, its origin in the original call. The origin is i
# for operand i, ~i for result i, or None. The placement parameters of a derived call give each
# operand and result the placement of its origin.
Sources = Sequence[int | None]
# The last argument tells for each operand of the derived call whether results may reuse its memory.
MakeParams = Callable[
    [dict[str, Any], ClosedOlympuspr, Sources, Sources, Sequence[bool]], dict[str, Any]
]


def moving(values: Sequence[Any]) -> list[Any]:
    """Returns the tangents or cotangents that are not zero."""
    return [value for value in values if value.__class__ is not Zero]


def partitioned(values: Sequence[Any], flags: Sequence[bool]) -> tuple[list[Any], list[Any]]:
    """Splits values into those whose flag is set and those whose flag is not set."""
    chosen: list[Any] = []
    others: list[Any] = []
    for value, flag in zip(values, flags, strict=True):
        (chosen if flag else others).append(value)
    return chosen, others


def positions(flags: Sequence[bool]) -> list[int]:
    return [position for position, flag in enumerate(flags) if flag]


def with_zeros(tangents: Sequence[Any], nonzero: Sequence[bool], results: Sequence[Any]) -> list:
    """Returns one tangent for each result: a given tangent where ``nonzero``, else zeros."""
    remaining = iter(tangents)
    return [
        next(remaining) if flag else Zero.of(result)
        for flag, result in zip(nonzero, results, strict=True)
    ]


# ---- parameters of derived calls ----


def donations(
    params: dict[str, Any], sources: Sources, values: Sequence[Any], kept: Container[int] = ()
) -> tuple[bool, ...]:
    """Returns for each operand of a derived call whether results may reuse its memory.

    Donated operands are donated to the derived call, except arrays that are two operands, because
    XLA takes each buffer once. Their tangents are not: a tangent may belong to several values, as
    those of ``x`` and ``x + 1``.

    Args:
      params: the parameters of the original call.
      sources: the origin of each operand, which is an operand of the original call.
      values: the operands of the derived call.
      kept: the positions of operands of the original call that are needed after the derived call.
    """
    donated = params.get("donated_invars", ())
    if not any(donated):
        return (False,) * len(values)
    counts = Counter(map(id, values))
    return tuple(
        [
            source is not None and donated[source] and source not in kept and counts[id(value)] == 1
            for source, value in zip(sources, values, strict=True)
        ]
    )


def jit_params(
    params: dict[str, Any],
    jaxpr: ClosedOlympuspr,
    operands: Sources,
    results: Sources,
    donated: Sequence[bool],
) -> dict[str, Any]:
    derived = {**params, "jaxpr": jaxpr, "donated_invars": tuple(donated)}
    for kind, default in (("shardings", UNSPECIFIED), ("layouts", None)):
        of_operands, of_results = params[f"in_{kind}"], params[f"out_{kind}"]
        if all(value is default for value in (*of_operands, *of_results)):
            derived[f"in_{kind}"] = (default,) * len(operands)
            derived[f"out_{kind}"] = (default,) * len(results)
            continue

        def source(
            position: int | None,
            ins: Any = of_operands,
            outs: Any = of_results,
            default: Any = default,
        ) -> Any:
            if position is None:
                return default
            return ins[position] if position >= 0 else outs[~position]

        derived[f"in_{kind}"] = tuple(map(source, operands))
        derived[f"out_{kind}"] = tuple(map(source, results))
    return derived


def closed_call_params(
    params: dict[str, Any],
    jaxpr: ClosedOlympuspr,
    operands: Sources,
    results: Sources,
    donated: Sequence[bool],
) -> dict[str, Any]:
    return {**params, "call_jaxpr": jaxpr}


def define_call(primitive: Primitive, key: str, make_params: MakeParams) -> None:
    """Defines the rules of a primitive that calls the program ``params[key]``."""
    jvp_rules.define(primitive, _call_jvp(primitive, key, make_params))
    linearize_rules.define(primitive, _call_linearize(primitive, key, make_params))
    transpose_rules.define(primitive, _call_transpose(primitive, key, make_params))


def _call_jvp(primitive: Primitive, key: str, make_params: MakeParams) -> Callable[..., Any]:
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        program = params[key]
        nonzero_in = tuple([t.__class__ is not Zero for t in tangents])
        derived, nonzero_out = jvp_olympuspr(program, nonzero_in)
        count = len(program.out_avals)
        sources = [*range(len(primals)), *positions(nonzero_in)]
        operands = [*primals, *moving(tangents)]
        new_params = make_params(
            params,
            derived,
            sources,
            [*(~i for i in range(count)), *(~i for i in positions(nonzero_out))],
            donations(params, [*range(len(primals)), *[None] * sum(nonzero_in)], operands),
        )
        results = primitive.bind(*operands, **new_params)
        primals_out, tangents_out = results[:count], results[count:]
        return primals_out, with_zeros(tangents_out, nonzero_out, primals_out)

    return jvp


def _call_linearize(primitive: Primitive, key: str, make_params: MakeParams) -> Callable[..., Any]:
    def linearize(
        trace: LinearizeTrace, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> Any:
        program = params[key]
        nonzero_in = tuple([t.__class__ is not Zero for t in tangents])
        linearized = linearize_olympuspr(program, nonzero_in)
        count, num_inputs = len(program.out_avals), len(primals)
        extra = len(linearized.primal.out_avals) - count
        new_params = make_params(
            params,
            linearized.primal,
            range(num_inputs),
            [*(~i for i in range(count)), *[None] * extra],
            # Residuals that are operands live on: the linear program takes them.
            donations(params, range(num_inputs), primals, kept=linearized.residuals),
        )
        results = primitive.bind_with_trace(trace.parent, primals, new_params)
        candidates = [*primals, *results]
        results = results[:count]
        if not any(linearized.nonzero_out):
            return results, [Zero.of(result) for result in results]
        residuals = [candidates[position] for position in linearized.residuals]
        sources = [position if position < num_inputs else None for position in linearized.residuals]
        linear_params = make_params(
            params,
            linearized.linear,
            [*sources, *positions(nonzero_in)],
            [~i for i in positions(linearized.nonzero_out)],
            # The linear program may be applied to the same tangents again.
            (False,) * (len(sources) + sum(nonzero_in)),
        )
        tangents_out = trace.tangent_trace.record(
            primitive, [*residuals, *moving(tangents)], linear_params
        )
        return results, with_zeros(tangents_out, linearized.nonzero_out, results)

    return linearize


def _call_transpose(primitive: Primitive, key: str, make_params: MakeParams) -> Callable[..., Any]:
    def transpose(cotangents: Sequence[Any], *operands: Any, **params: Any) -> list[Any]:
        program = params[key]
        linear_in = tuple([is_undefined_primal(operand) for operand in operands])
        nonzero = tuple([ct.__class__ is not Zero for ct in cotangents])
        transposed, nonzero_out = transpose_olympuspr(program, linear_in, nonzero)
        known = [operand for operand in operands if not is_undefined_primal(operand)]
        linear_positions = positions(linear_in)
        out_positions = [
            position for position, flag in zip(linear_positions, nonzero_out, strict=True) if flag
        ]
        new_params = make_params(
            params,
            transposed,
            [
                *(position for position, linear in enumerate(linear_in) if not linear),
                *(~i for i in positions(nonzero)),
            ],
            out_positions,
            (False,) * (len(known) + sum(nonzero)),
        )
        results = primitive.bind(*known, *moving(cotangents), **new_params)
        by_operand: list[Any] = [None] * len(operands)
        for index, result in zip(out_positions, results, strict=True):
            by_operand[index] = result
        return by_operand

    return transpose


define_call(lax.jit_p, "jaxpr", jit_params)
define_call(lax.closed_call_p, "call_jaxpr", closed_call_params)


@jvp_rules.define(lax.composite_p)
def _composite_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: ClosedOlympuspr, **params: Any
) -> Any:
    """Jvp rule of composites: differentiates the decomposition."""
    return jvp_flat(olympuspr_as_fun(jaxpr), primals, tangents)


# ---- functions with custom rules ----


@jvp_rules.define(custom_vmap_call_p)
def _custom_vmap_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, call: ClosedOlympuspr, **params: Any
) -> Any:
    """Jvp rule of `custom_vmap` calls. The derivative keeps a batching rule."""
    count = len(primals) - params["in_tree"].num_leaves
    if moving(tangents[:count]):  # a closed-over value, which the batching rule does not receive
        return jvp_flat(olympuspr_as_fun(call), primals, tangents)
    moves = [position >= count and can_move(aval_of(x)) for position, x in enumerate(primals)]
    derived, nonzero_out = jvp_olympuspr(call, moves, True)
    moving_tangents = [instantiate(t) for t, flag in zip(tangents, moves, strict=True) if flag]
    num_results = len(call.out_avals)
    results = custom_vmap_call_p.bind(
        *primals,
        *moving_tangents,
        call=derived,
        rule=JvpOfVmapRule(moving_in=tuple(moves[count:]), moving_out=nonzero_out, **params),
        in_tree=pytrees.tree_structure(
            (([0] * (len(primals) - count), [0] * len(moving_tangents)), {})
        ),
        out_tree=pytrees.tree_structure(([0] * num_results, [0] * sum(nonzero_out))),
    )
    primals_out = results[:num_results]
    return primals_out, with_zeros(results[num_results:], nonzero_out, primals_out)


@linearize_rules.define(custom_vmap_call_p)
def _custom_vmap_linearize(
    trace: LinearizeTrace, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> Any:
    """Linearizes the function without its batching rule, which does not cover residuals."""
    rule = linearize_rules[lax.closed_call_p]
    return rule(trace, primals, tangents, call_jaxpr=params["call"])


for _primitive in (lax.custom_jvp_call_p, lax.custom_vjp_call_p):
    jvp_rules.exempt(_primitive, reason="the traces apply the function's own rule")


@transpose_rules.define(lax.custom_jvp_call_p)
def _custom_call_transpose(
    cotangents: Sequence[Any], *operands: Any, call_jaxpr: ClosedOlympuspr, **params: Any
) -> list[Any]:
    """Transpose rule of calls with custom rules: ignores the custom rule.

    The function is linear, so it is its own derivative.
    """
    rule = transpose_rules[lax.closed_call_p]
    return rule(cotangents, *operands, call_jaxpr=call_jaxpr)


transpose_rules.define(lax.custom_vjp_call_p, _custom_call_transpose)


# ---- checkpoint ----


@jvp_rules.define(lax.checkpoint_p)
def _checkpoint_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: Any, **params: Any
) -> Any:
    nonzero_in = tuple([t.__class__ is not Zero for t in tangents])
    derived, nonzero_out = jvp_olympuspr(close_olympuspr(jaxpr), nonzero_in)
    count = len(jaxpr.outvars)
    results = lax.checkpoint_p.bind(
        *derived.consts,
        *primals,
        *moving(tangents),
        jaxpr=without_constants(derived),
        **params,
    )
    primals_out = results[:count]
    return primals_out, with_zeros(results[count:], nonzero_out, primals_out)


def without_constants(closed: ClosedOlympuspr) -> Any:
    """Returns the program with its constants as first inputs, memoized."""
    found = closed.memo.get("without constants")
    if found is None:
        found = closed.memo["without constants"] = constants_as_inputs(closed.jaxpr)
    return found


@linearize_rules.define(lax.checkpoint_p)
def _checkpoint_linearize(
    trace: LinearizeTrace,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    jaxpr: Any,
    policy: Any,
    prevent_cse: Any,
    differentiated: bool,
) -> Any:
    nonzero_in = tuple([t.__class__ is not Zero for t in tangents])
    plan = checkpoint.checkpoint_linearization(close_olympuspr(jaxpr), nonzero_in, policy)
    with set_current_trace(trace.parent):
        results, saved = plan.run_forward(primals)
    if not any(plan.nonzero_out):
        return results, [Zero.of(result) for result in results]
    tangents_out = trace.tangent_trace.record(
        lax.checkpoint_p,
        [*saved, *moving(tangents)],
        {
            "jaxpr": plan.linear,
            "prevent_cse": prevent_cse,
            "differentiated": True,
            "policy": policy,
        },
    )
    return results, with_zeros(tangents_out, plan.nonzero_out, results)


@transpose_rules.define(lax.checkpoint_p)
def _checkpoint_transpose(
    cotangents: Sequence[Any], *operands: Any, jaxpr: Any, **params: Any
) -> list[Any]:
    linear_in = tuple([is_undefined_primal(operand) for operand in operands])
    nonzero = tuple([ct.__class__ is not Zero for ct in cotangents])
    transposed, nonzero_out = transpose_olympuspr(close_olympuspr(jaxpr), linear_in, nonzero)
    known = [operand for operand in operands if not is_undefined_primal(operand)]
    results = iter(
        lax.checkpoint_p.bind(
            *transposed.consts,
            *known,
            *moving(cotangents),
            jaxpr=without_constants(transposed),
            **params,
        )
    )
    flags = iter(nonzero_out)
    return [next(results) if linear and next(flags) else None for linear in linear_in]


# ---- barriers ----


@jvp_rules.define(lax.optimization_barrier_p)
def _optimization_barrier_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    results = lax.optimization_barrier_p.bind(*primals)
    passed = iter(lax.optimization_barrier_p.bind(*moving(tangents)))
    return results, [t if t.__class__ is Zero else next(passed) for t in tangents]


@transpose_rules.define(lax.optimization_barrier_p)
def _optimization_barrier_transpose(cotangents: Sequence[Any], *operands: Any) -> list[Any]:
    passed = iter(lax.optimization_barrier_p.bind(*moving(cotangents)))
    return [ct if ct.__class__ is Zero else next(passed) for ct in cotangents]
