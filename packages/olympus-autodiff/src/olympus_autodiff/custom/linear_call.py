# SPDX-License-Identifier: Apache-2.0
"""`linear_call`: a linear function with a given transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_batching import batching_rules, vmap
from olympus_batching.dimensions import materialize
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.lax.control_flow.primitives import stacked_aval
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import FlatFunction
from olympus_ir.types.avals import AbstractValue

from ..forward.jvp import jvp
from ..tables import jvp_rules, transpose_rules
from ..zeros import Zero, add_tangents, aval_of, instantiate

__all__ = ["linear_call", "linear_call_p"]

# The operands are the residuals, followed by the linear operands. The parameters are:
# fun: a function of flat residuals and flat linear operands.
# transpose: a function of flat residuals and flat cotangents.
# num_res: the number of residuals.
# out_avals: the results' types.
# smooth: whether derivatives with respect to residuals are those of `fun`; otherwise they raise an
#   error.
linear_call_p = Primitive.declare("linear_call", multiple_results=True, cache_inference=False)


@linear_call_p.def_abstract_eval
def _linear_call_types(
    *avals: AbstractValue, out_avals: Sequence[AbstractValue], **params: Any
) -> Sequence[AbstractValue]:
    return out_avals


@expansion_rules.define(linear_call_p)
def _run_linear_call(*operands: Any, fun: Callable[..., Any], **params: Any) -> Any:
    return fun(*operands)


@jvp_rules.define(linear_call_p)
def _linear_call_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    fun: Callable[..., Any],
    num_res: int,
    smooth: bool,
    **params: Any,
) -> Any:
    params = {"fun": fun, "num_res": num_res, "smooth": smooth, **params}
    varying = [tangent.__class__ is not Zero for tangent in tangents[:num_res]]
    if any(varying) and not smooth:
        raise ValueError(
            "linear_call cannot be differentiated with respect to its residual arguments: it "
            "defines the derivative with respect to the linear arguments only"
        )
    residuals = primals[:num_res]
    results = linear_call_p.bind(*primals, **params)
    pushed: Sequence[Any] | None = None
    if any(tangent.__class__ is not Zero for tangent in tangents[num_res:]):
        linear = map(instantiate, tangents[num_res:])
        pushed = linear_call_p.bind(*residuals, *linear, **params)
    if any(varying):
        residual_part = _by_residuals(fun, primals, tangents[:num_res], varying)
        pushed = residual_part if pushed is None else list(map(add_tangents, pushed, residual_part))
    return results, [Zero.of(result) for result in results] if pushed is None else pushed


def _by_residuals(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    varying: Sequence[bool],
) -> Sequence[Any]:
    """Returns the results' tangents that are due to the tangents of the residuals."""
    positions = [position for position, varies in enumerate(varying) if varies]

    def of_varying(*values: Any) -> list[Any]:
        operands = list(primals)
        for position, value in zip(positions, values, strict=True):
            operands[position] = value
        return fun(*operands)

    values = [primals[position] for position in positions]
    return jvp(of_varying, values, [tangents[position] for position in positions])[1]


@transpose_rules.define(linear_call_p)
def _linear_call_transpose(
    cotangents: Sequence[Any],
    *operands: Any,
    fun: Callable[..., Any],
    transpose: Callable[..., Any],
    num_res: int,
    out_avals: Sequence[AbstractValue],
    smooth: bool,
) -> list[Any]:
    residuals, linear = operands[:num_res], operands[num_res:]
    results = linear_call_p.bind(
        *residuals,
        *map(instantiate, cotangents),
        fun=transpose,
        transpose=fun,
        num_res=num_res,
        out_avals=tuple(operand.aval for operand in linear),
        smooth=smooth,
    )
    return [None] * num_res + list(results)


@batching_rules.define(linear_call_p)
def _linear_call_batching(
    axis_size: int,
    args: Sequence[Any],
    batch_dims: Sequence[Any],
    *,
    fun: Callable[..., Any],
    transpose: Callable[..., Any],
    num_res: int,
    out_avals: Sequence[AbstractValue],
    smooth: bool,
) -> Any:
    residual_dims = tuple(batch_dims[:num_res])
    linear = [
        materialize(arg, axis_size, dim)
        for arg, dim in zip(args[num_res:], batch_dims[num_res:], strict=True)
    ]
    fun_dims = residual_dims + (0,) * len(linear)
    transpose_dims = residual_dims + (0,) * len(out_avals)
    results = linear_call_p.bind(
        *args[:num_res],
        *linear,
        fun=vmap(fun, fun_dims, axis_size=axis_size),
        transpose=vmap(transpose, transpose_dims, axis_size=axis_size),
        num_res=num_res,
        out_avals=tuple(stacked_aval(aval, axis_size) for aval in out_avals),
        smooth=smooth,
    )
    return results, [0] * len(out_avals)


@api_boundary
def linear_call(
    fun: Callable[..., Any],
    fun_transpose: Callable[..., Any],
    residual_args: Any,
    linear_args: Any,
    *,
    smooth: bool = False,
) -> Any:
    """Calls a linear function whose transpose is given.

    Args:
      fun: ``fun(residual_args, linear_args)``, linear in the second argument.
      fun_transpose: ``fun_transpose(residual_args, cotangents)``, the transpose of ``fun``. The
        cotangents have the structure of the result. The returned value has the structure of
        ``linear_args``.
      residual_args: the other arguments. By default, the call has no derivative with respect to
        these arguments.
      linear_args: the arguments in which the function is linear.
      smooth: whether the call has derivatives with respect to ``residual_args``, computed from the
        functions. If False, such derivatives raise an error.

    Returns:
      The function's result.

    Raises:
      TypeError: a function cannot be called, or the transpose does not return the structure of
        ``linear_args``.

    Example:
      >>> from olympus_autodiff import grad
      >>> halve = lambda x: linear_call(lambda r, t: t / r, lambda r, t: t / r, 2.0, x)
      >>> float(grad(halve)(3.0))
      0.5
    """
    for name, given in (("fun", fun), ("fun_transpose", fun_transpose)):
        if not callable(given):
            raise TypeError(f"linear_call: {name} must be a function, got {given!r}")
    residuals, residual_tree = pytrees.tree_flatten(residual_args)
    linear, linear_tree = pytrees.tree_flatten(linear_args)
    no_keywords = pytrees.tree_structure({})
    in_tree = pytrees.treedef_tuple(
        (pytrees.treedef_tuple((residual_tree, linear_tree)), no_keywords)
    )
    flat_fun = FlatFunction(fun, in_tree)
    closed = trace_to_closed(flat_fun, [aval_of(value) for value in (*residuals, *linear)])
    out_tree = flat_fun.out_tree

    def transpose(*operands: Any) -> list[Any]:
        residual_values = pytrees.tree_unflatten(residual_tree, operands[: len(residuals)])
        cotangents = pytrees.tree_unflatten(out_tree, operands[len(residuals) :])
        leaves, tree = pytrees.tree_flatten(fun_transpose(residual_values, cotangents))
        if tree != linear_tree:
            raise TypeError(
                "linear_call: transpose output pytree structure must match that of the linear "
                f"arguments, {linear_tree}, but got {tree}"
            )
        return leaves

    results = linear_call_p.bind(
        *residuals,
        *linear,
        fun=flat_fun,
        transpose=transpose,
        num_res=len(residuals),
        out_avals=tuple(closed.out_avals),
        smooth=smooth,
    )
    return pytrees.tree_unflatten(out_tree, results)
