# SPDX-License-Identifier: Apache-2.0
"""What each primitive may do wrong, and how calls and loops hand errors on."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from olympus_autodiff import checkpoint
from olympus_ir import lax
from olympus_ir.lax import calls
from olympus_ir.lax.control_flow.operands import ScanLayout, WhileLayout
from olympus_ir.lax.control_flow.predicates import with_scalar_condition
from olympus_ir.lax.control_flow.primitives import cond_p, scan_p, while_p
from olympus_ir.programs.evaluation import bind_equation
from olympus_ir.programs.jit import jit
from olympus_ir.programs.olympuspr import Equation, close_olympuspr
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.programs.tracing import current
from olympus_ir.types import dtypes
from olympus_ir.types.avals import get_aval, is_valid_value

from .checks import check_p
from .errors import (
    DivisionByZeroError,
    Error,
    NaNError,
    OOBError,
    Site,
    init_error,
)
from .interpreter import (
    Enabled,
    call_with_errors,
    code_of,
    effects_of,
    error_rules,
    plain,
    run,
    with_errors,
)

Outcome = tuple[Error, Sequence[Any]]


def _found(
    error: Error,
    equation: Equation,
    site: Site,
    failed: Any,
    payload: Sequence[Any] = (),
    ordinal: int = 0,
) -> Error:
    """The error after a check of what an equation has done; its results are told by ordinals."""
    code = code_of(equation, site, ordinal)
    return error.updated(site, failed, code, payload).with_metadata({code: site})


# ---- values that are not numbers ----

_MAKE_NANS = """
    acos acosh add asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt conv_general_dilated
    cos cosh cumlogsumexp cumprod cumsum digamma div dot_general erf erf_inv erfc exp exp2 expm1 fft
    igamma igamma_grad_a igammac integer_pow lgamma log log1p logistic mul pow psum reduce_prod
    reduce_sum reduce_window_sum regularized_incomplete_beta rem rsqrt scatter scatter-add
    scatter-mul sin sinh sqrt square sub tan tanh
""".split()


def _with_nan_check(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Outcome:
    results = bind_equation(equation, operands)
    return _check_for_nans(equation, enabled, error, results), results


def _check_for_nans(
    equation: Equation, enabled: Enabled, error: Error, results: Sequence[Any]
) -> Error:
    if NaNError in enabled:
        site = Site(NaNError, (equation.primitive.name,), equation.source_info)
        for place, result in enumerate(results):
            if dtypes.issubdtype(get_aval(result).dtype, np.inexact):  # type: ignore[attr-defined]
                failed = _any(lax.ne(result, result))
                error = _found(error, equation, site, failed, ordinal=place)
    return error


def _any(flags: Any) -> Any:
    return lax.reduce_or(flags, tuple(range(np.ndim(flags)))) if np.ndim(flags) else flags


def _div(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    if DivisionByZeroError in enabled:
        divisor = operands[1]
        zero = lax.eq(divisor, lax.full_like(divisor, 0))
        site = Site(DivisionByZeroError, (), equation.source_info)
        error = _found(error, equation, site, _any(zero))
    return _with_nan_check(equation, enabled, error, operands)


# ---- indices out of bounds ----


def _check_bounds(
    equation: Equation,
    enabled: Enabled,
    error: Error,
    starts: Any,
    axes: Sequence[int],
    sizes: Sequence[int],
) -> Error:
    """Checks where slices begin.

    Args:
      starts: integers; the last dimension goes over ``axes``.
      axes: the axes of the operand that are sliced.
      sizes: the sizes of slices along them.
    """
    if OOBError not in enabled or not axes:
        return error
    shape = equation.invars[0].aval.shape
    starts = lax.convert_element_type(starts, np.dtype(np.int32))
    starts = lax.reshape(starts, (starts.size // len(axes), len(axes)))
    limits = np.array(
        [shape[axis] - size for axis, size in zip(axes, sizes, strict=True)], np.int32
    )
    limits = np.broadcast_to(limits, starts.shape)
    outside = lax.bitwise_or(lax.lt(starts, np.zeros_like(limits)), lax.gt(starts, limits))
    outside = lax.reshape(outside, (starts.size,))
    first = lax.argmax(outside, 0, np.int32)
    index = lax.dynamic_index_in_dim(lax.reshape(starts, (starts.size,)), first, 0, keepdims=False)
    # Which axis the first of them is about, and its size.
    which = lax.rem(first, np.int32(len(axes)))
    axis, size = (
        lax.dynamic_index_in_dim(np.asarray(table, np.int32), which, 0, keepdims=False)
        for table in (axes, [shape[axis] for axis in axes])
    )
    payload = lax.concatenate([lax.reshape(each, (1,)) for each in (index, axis, size)], 0)
    site = Site(OOBError, (shape,), equation.source_info)
    return _found(error, equation, site, _any(outside), [payload])


def _slice_starts(starts: Sequence[Any]) -> Any:
    words = [lax.convert_element_type(start, np.dtype(np.int32)) for start in starts]
    return lax.concatenate([lax.reshape(word, (1,)) for word in words], 0)


def _dynamic_slice(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Outcome:
    sizes = equation.params["slice_sizes"]
    if sizes:
        starts = _slice_starts(operands[1:])
        error = _check_bounds(equation, enabled, error, starts, range(len(sizes)), sizes)
    return error, bind_equation(equation, operands)


def _dynamic_update_slice(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Outcome:
    sizes = equation.invars[1].aval.shape
    if sizes:
        starts = _slice_starts(operands[2:])
        error = _check_bounds(equation, enabled, error, starts, range(len(sizes)), sizes)
    return error, bind_equation(equation, operands)


def _gather(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    axes = equation.params["dimension_numbers"].start_index_map
    sizes = [equation.params["slice_sizes"][axis] for axis in axes]
    error = _check_bounds(equation, enabled, error, operands[1], axes, sizes)
    return error, bind_equation(equation, operands)


def _scatter(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Outcome:
    numbers = equation.params["dimension_numbers"]
    updates = equation.invars[2].aval.shape
    windows = iter(updates[dim] for dim in numbers.update_window_dims)
    whole = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    ndim = len(equation.invars[0].aval.shape)
    window_of_axis = [1 if axis in whole else next(windows) for axis in range(ndim)]
    axes = numbers.scatter_dims_to_operand_dims
    sizes = [window_of_axis[axis] for axis in axes]
    error = _check_bounds(equation, enabled, error, operands[1], axes, sizes)
    return _with_nan_check(equation, enabled, error, operands)


# ---- checks of the user's ----


def _check(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    effect, metadata = equation.params["effect"], dict(equation.params["metadata"])
    if effect.error_type in enabled:
        failed, code, *payload = operands
        error = error.merged(effect, failed, code, payload, metadata)
    return error, []


# ---- calls and loops ----


def _known(error: Error, metadata: Mapping[int, Site]) -> Error:
    return error.with_metadata(metadata)


def _jit(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    closed = equation.params["jaxpr"]
    effects = effects_of(closed, enabled)
    if not effects:
        return plain(_without_checks(equation, enabled), enabled, error, operands)
    fun, metadata = call_with_errors(closed, enabled, effects, reduced=False)
    key = ("checked function", enabled, effects)
    compiled = closed.memo.get(key)
    if compiled is None:
        fun.__name__ = equation.params["name"]
        compiled = closed.memo[key] = jit(fun)
    error = _known(error.with_effects(effects).reduced(), metadata)
    leaves = error.leaves(effects)
    out = compiled(*leaves, *operands)
    return error.with_leaves(effects, out[: len(leaves)]), out[len(leaves) :]


def _without_checks(equation: Equation, enabled: Enabled) -> Equation:
    """The equation with a program that has lost the checks that nobody asked for."""
    if not equation.effects:
        return equation
    (key,) = {"jaxpr", "call_jaxpr"} & set(equation.params)
    program, _ = _stripped(equation.params[key], enabled)
    return equation.replace(params={**equation.params, key: program}, effects=program.effects)


def _stripped(closed: Any, enabled: Enabled) -> Any:
    return with_errors(closed, enabled, ())


def _inline(key: str) -> Callable[..., Outcome]:
    def rule(
        equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
    ) -> Outcome:
        return run(equation.params[key], enabled, error, operands)

    return rule


def _checkpoint(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Outcome:
    closed = close_olympuspr(equation.params["jaxpr"])
    effects = effects_of(closed, enabled)
    fun, metadata = call_with_errors(closed, enabled, effects)
    error = _known(error.with_effects(effects), metadata)
    leaves = error.leaves(effects)
    again = checkpoint(
        fun, prevent_cse=equation.params["prevent_cse"], policy=equation.params["policy"]
    )
    out = again(*leaves, *operands)
    return error.with_leaves(effects, out[: len(leaves)]), out[len(leaves) :]


def _cond(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    branches = equation.params["branches"]
    effects = tuple(sorted({e for branch in branches for e in effects_of(branch, enabled)}))
    index, *rest = operands
    error = error.with_effects(effects)
    leaves = error.leaves(effects)
    funs = []
    for branch in branches:
        fun, metadata = call_with_errors(branch, enabled, effects)
        error = _known(error, metadata)
        funs.append(fun)
    out = lax.switch(lax.convert_element_type(index, np.dtype(np.int32)), funs, *leaves, *rest)
    return error.with_leaves(effects, out[: len(leaves)]), out[len(leaves) :]


def _scan(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    params = equation.params
    closed = params["jaxpr"]
    effects = effects_of(closed, enabled)
    fun, metadata = call_with_errors(closed, enabled, effects)
    error = _known(error.with_effects(effects), metadata)
    leaves = error.leaves(effects)
    layout = ScanLayout.of(params)
    consts, init, xs = layout.operands(operands)
    count = len(leaves)

    def body(carry: Any, slices: Any) -> Any:
        before, values = carry
        out = fun(*before, *consts, *values, *slices)
        carry, ys = layout.results(out[count:])
        return (out[:count], carry), ys

    (after, values), stacked = lax.scan(
        body,
        (leaves, list(init)),
        list(xs),
        length=params["length"],
        reverse=params["reverse"],
        unroll=params["unroll"],
    )
    return error.with_leaves(effects, after), [*values, *stacked]


def _while(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    operands, params = with_scalar_condition(operands, equation.params)
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    effects = tuple(sorted({*effects_of(cond, enabled), *effects_of(body, enabled)}))
    cond_fun, cond_metadata = call_with_errors(cond, enabled, effects)
    body_fun, body_metadata = call_with_errors(body, enabled, effects)
    error = _known(_known(error.with_effects(effects), cond_metadata), body_metadata)
    cond_consts, body_consts, init = WhileLayout.of(params).operands(operands)
    leaves = error.leaves(effects)
    count = len(leaves)

    # The condition may fail as well, so it is evaluated with the carry and not by the loop.
    def condition(before: Sequence[Any], values: Sequence[Any]) -> tuple[Any, list[Any]]:
        *after, pred = cond_fun(*before, *cond_consts, *values)
        return pred, after

    def step(carry: Any) -> Any:
        _, before, values = carry
        out = body_fun(*before, *body_consts, *values)
        pred, after = condition(out[:count], out[count:])
        return pred, after, out[count:]

    pred, before = condition(leaves, init)
    _, after, values = lax.while_loop(lambda carry: carry[0], step, (pred, before, list(init)))
    return error.with_leaves(effects, after), values


# ---- functions with derivative rules of their own ----


def _run_rule(
    error: Error, enabled: Enabled, rule: Callable[..., Sequence[Any]], *args: Any
) -> tuple[Error, list[Any]]:
    """Runs a derivative rule with checks; of its results, those that are no arrays stay so."""
    others: dict[int, Any] = {}

    def arrays_only() -> list[Any]:
        results = list(rule(*args))
        for place, result in enumerate(results):
            if not is_valid_value(result):
                others[place] = result
        return [result for place, result in enumerate(results) if place not in others]

    error, arrays = run(trace_to_closed(arrays_only, ()), enabled, error, ())
    given = iter(arrays)
    count = len(arrays) + len(others)
    return error, [others[place] if place in others else next(given) for place in range(count)]


def _custom_jvp_call(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Outcome:
    params = equation.params
    closed, jvp = params["call_jaxpr"], params["jvp_jaxpr_fun"]
    effects = effects_of(closed, enabled)
    fun, metadata = call_with_errors(closed, enabled, effects)
    error = _known(error.with_effects(effects), metadata)
    leaves = error.leaves(effects)
    count = len(leaves)
    symbolic_zeros = params["symbolic_zeros"]

    def jvp_with_errors(*primals_and_tangents: Any) -> Sequence[Any]:
        half = len(primals_and_tangents) // 2
        primals, tangents = primals_and_tangents[:half], primals_and_tangents[half:]
        before = init_error.with_leaves(effects, primals[:count])
        after, derived = _run_rule(before, enabled, jvp, *primals[count:], *tangents[count:])
        known = after.leaves(effects)
        # What has occurred does not change with the operands.
        still = [np.zeros(np.shape(each), _tangent_dtype(each)) for each in known]
        half = len(derived) // 2
        return [*known, *derived[:half], *still, *derived[half:]]

    out = current.trace.process_custom_jvp_call(
        calls.custom_jvp_call_p,
        fun,
        jvp_with_errors,
        [*leaves, *operands],
        symbolic_zeros=symbolic_zeros,
        num_consts=0,
    )
    return error.with_leaves(effects, out[:count]), out[count:]


def _tangent_dtype(value: Any) -> Any:
    return get_aval(value).to_tangent_aval().dtype  # type: ignore[attr-defined]


def _custom_vjp_call(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Outcome:
    params = equation.params
    closed, fwd, bwd = params["call_jaxpr"], params["fwd_jaxpr_thunk"], params["bwd"]
    effects = effects_of(closed, enabled)
    fun, metadata = call_with_errors(closed, enabled, effects)
    error = _known(error.with_effects(effects), metadata)
    leaves = error.leaves(effects)
    count = len(leaves)
    num_results = len(closed.out_avals)
    num_operands = count + len(operands)

    def fwd_with_errors(*args: Any) -> Sequence[Any]:
        given, flags = args[:num_operands], args[num_operands + count :]
        before = init_error.with_leaves(effects, given[:count])
        after, forward = _run_rule(before, enabled, fwd, *given[count:], *flags)
        residuals = forward[: len(forward) - num_results]
        return [*residuals, *after.leaves(effects), *forward[len(residuals) :]]

    def bwd_with_errors(*args: Any) -> Sequence[Any]:
        num_residuals = len(args) - count - num_results
        # The backward pass has no way to hand on what it finds.
        operands = (*args[:num_residuals], *args[num_residuals + count :])
        _, cotangents = _run_rule(init_error, enabled, bwd, *operands)
        return [*[None] * count, *cotangents]

    out = current.trace.process_custom_vjp_call(
        calls.custom_vjp_call_p,
        fun,
        functools.wraps(fwd)(fwd_with_errors),
        bwd_with_errors,
        [*leaves, *operands],
        out_trees=params["out_trees"],
        symbolic_zeros=params["symbolic_zeros"],
        num_consts=0,
    )
    return error.with_leaves(effects, out[:count]), out[count:]


def _define_rules() -> None:
    for primitive in lax.__dict__.values():
        if getattr(primitive, "name", None) in _MAKE_NANS and hasattr(primitive, "bind"):
            error_rules[primitive] = _with_nan_check
    error_rules.update(
        {
            check_p: _check,
            cond_p: _cond,
            scan_p: _scan,
            while_p: _while,
            lax.div_p: _div,
            lax.dynamic_slice_p: _dynamic_slice,
            lax.dynamic_update_slice_p: _dynamic_update_slice,
            lax.gather_p: _gather,
            calls.jit_p: _jit,
            calls.closed_call_p: _inline("call_jaxpr"),
            lax.xla_metadata_call_p: _inline("jaxpr"),
            lax.compute_on_p: _inline("jaxpr"),
            lax.fused_call_p: _inline("jaxpr"),
            calls.checkpoint_p: _checkpoint,
            calls.custom_jvp_call_p: _custom_jvp_call,
            calls.custom_vjp_call_p: _custom_vjp_call,
        }
    )
    for scatter in (
        lax.scatter_p,
        lax.scatter_add_p,
        lax.scatter_mul_p,
        lax.scatter_min_p,
        lax.scatter_max_p,
    ):
        error_rules[scatter] = _scatter


_define_rules()
