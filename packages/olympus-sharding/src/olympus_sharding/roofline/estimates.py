# SPDX-License-Identifier: Apache-2.0
"""Estimates of programs, equation by equation."""

from __future__ import annotations

import functools
import logging
import operator
from collections.abc import Callable
from typing import Any

from olympus_autodiff import vjp
from olympus_autodiff.zeros import ones_like_aval
from olympus_ir.programs.dead_code import dce_olympuspr
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation, Literal, Olympuspr
from olympus_ir.programs.tracing import typeof
from olympus_ir.settings.naming import logger_name
from olympus_ir.trees import pytrees

from ..manual.arguments import flat_specs
from ..manual.shard_map import shard_map
from ..shardings.behavior import NamedSharding
from .results import RooflineResult, RooflineRuleContext, RooflineShape, roofline_rules

__all__ = ["roofline", "roofline_and_grad"]


class _Estimate:
    """Estimator of the costs of programs, with fixed options."""

    def __init__(self, mesh: Any, pin_lhs_in_vmem: bool, pin_rhs_in_vmem: bool) -> None:
        self.mesh = mesh
        self.pins = {"pin_lhs_in_vmem": pin_lhs_in_vmem, "pin_rhs_in_vmem": pin_rhs_in_vmem}

    def program(self, olympuspr: Olympuspr) -> RooflineResult:
        """Returns the cost of a program; values occupy memory until their last use."""
        last: dict[Any, int] = {}
        for position, equation in enumerate(olympuspr.eqns):
            last.update(
                {atom: position for atom in equation.invars if atom.__class__ is not Literal}
            )
        end = len(olympuspr.eqns)
        last.update({atom: end for atom in olympuspr.outvars if atom.__class__ is not Literal})
        live = {var for var in (*olympuspr.constvars, *olympuspr.invars) if var in last}
        result = RooflineResult(peak_hbm_bytes=_bytes_of(live))
        for position, equation in enumerate(olympuspr.eqns):
            result += self.equation(equation)
            live |= {var for var in equation.outvars if last.get(var, -1) > position}
            live = {var for var in live if last[var] > position}
            result += RooflineResult(peak_hbm_bytes=_bytes_of(live))
        return result

    def equation(self, equation: Equation) -> RooflineResult:
        params, name = equation.params, equation.primitive.name
        if name == "scan":
            return self.program(params["jaxpr"].jaxpr).repeated(params["length"])
        if name == "while":
            return self.program(params["body_jaxpr"].jaxpr)
        if name == "cond":
            return max(
                (self.program(branch.jaxpr) for branch in params["branches"]),
                key=lambda cost: cost.unfused_flops,
            )
        for key in ("jaxpr", "call_jaxpr"):
            inner = params.get(key)
            if isinstance(inner, ClosedOlympuspr | Olympuspr):
                return self.program(inner.jaxpr if isinstance(inner, ClosedOlympuspr) else inner)
        rule = roofline_rules.find(equation.primitive)
        if rule is None:
            logger = logging.getLogger(logger_name("roofline"))
            logger.warning("No roofline rule for %s, skipping: %s", name, equation)
            return RooflineResult.zeros()
        context = RooflineRuleContext(
            name_stack=getattr(equation.source_info, "name_stack", None),
            primitive=equation.primitive,
            avals_in=[atom.aval for atom in equation.invars],
            avals_out=[var.aval for var in equation.outvars],
            jaxpr_eqn_ctx=equation.ctx,
            mesh=self.mesh,
            **self.pins,
        )
        shapes = [RooflineShape.from_aval(atom.aval) for atom in equation.invars]
        return rule(context, *shapes, **params)


def _bytes_of(variables: Any) -> int:
    return RooflineShape.total_bytes([var.aval for var in variables])


def roofline(
    f: Callable[..., Any],
    mesh: Any = None,
    in_specs: Any = None,
    out_specs: Any = None,
    *,
    pin_lhs_in_vmem: bool = False,
    pin_rhs_in_vmem: bool = False,
    vjp: bool = False,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[Any, RooflineResult]]:
    """Returns a function that estimates the cost of a function without running it.

    Args:
      f: the function.
      mesh: a mesh to partition the function over, as by `shard_map`; the estimate is per device.
      in_specs: the partition specs of arguments.
      out_specs: the partition specs of results.
      pin_lhs_in_vmem: whether left factors of products, and results, stay in fast memory.
      pin_rhs_in_vmem: whether right factors of products stay in fast memory.
      vjp: whether to estimate the backward pass.
      print_jaxpr: whether to print the program.

    Returns:
      A function of the same arguments, or of their types, that returns the types of the results and
      a `RooflineResult`. With a mesh, the types have the shardings of ``out_specs``.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import lax
      >>> x = np.ones((8, 4), np.float32)
      >>> _, result = roofline(lambda x: lax.dot(x, x.T))(x)
      >>> result.flops
      512
    """
    is_spread = mesh is not None and in_specs is not None
    of_device = f
    if is_spread:
        of_device = shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs)

    def estimate(*args: Any) -> tuple[Any, RooflineResult]:
        traced = _backward(of_device) if vjp else of_device
        closed, types = make_olympuspr(traced, return_shape=True)(*args)
        if print_jaxpr:
            print(closed)
        walk = _Estimate(mesh, pin_lhs_in_vmem, pin_rhs_in_vmem)
        # Compilers drop operations without use: derivatives do not need all of the forward pass.
        used = [True] * len(closed.jaxpr.outvars)
        olympuspr, _ = dce_olympuspr(closed.jaxpr, used, instantiate=True)
        if not is_spread:
            return types, walk.program(olympuspr)
        if not vjp:
            types = _with_shardings(types, mesh, out_specs)
        # Outside of `shard_map` arrays are whole: their size says nothing about one device. So the
        # memory that they occupy is not counted.
        parts = map(walk.equation, olympuspr.eqns)
        return types, functools.reduce(operator.add, parts, RooflineResult.zeros())

    return estimate


def _with_shardings(types: Any, mesh: Any, out_specs: Any) -> Any:
    """Returns the types of results with the shardings that `shard_map` gives them."""
    leaves, tree = pytrees.tree_flatten(types)
    specs = flat_specs("out", out_specs, types)
    placed = [
        leaf.update(sharding=NamedSharding(mesh, spec))
        for leaf, spec in zip(leaves, specs, strict=True)
    ]
    return pytrees.tree_unflatten(tree, placed)


def _backward(f: Callable[..., Any]) -> Callable[..., Any]:
    def pulled_back(*args: Any) -> Any:
        results, pull = vjp(f, *args)
        return pull(pytrees.tree_map(lambda leaf: ones_like_aval(typeof(leaf)), results))

    return pulled_back


def roofline_and_grad(
    f: Callable[..., Any],
    mesh: Any,
    in_specs: Any,
    out_specs: Any,
    *,
    pin_lhs_in_vmem: bool = False,
    pin_rhs_in_vmem: bool = False,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[Any, RooflineResult, RooflineResult]]:
    """Returns a function that estimates a function and its backward pass; see `roofline`.

    Args:
      f: the function.
      mesh: a mesh to partition the function over; the estimates are per device.
      in_specs: the partition specs of arguments.
      out_specs: the partition specs of results.
      pin_lhs_in_vmem: whether left factors of products, and results, stay in fast memory.
      pin_rhs_in_vmem: whether right factors of products stay in fast memory.
      print_jaxpr: whether to print the program.

    Returns:
      A function that returns the types of the results, the estimate of the function, and that of
      its backward pass.
    """
    options = {
        "pin_lhs_in_vmem": pin_lhs_in_vmem,
        "pin_rhs_in_vmem": pin_rhs_in_vmem,
        "print_jaxpr": print_jaxpr,
    }

    def estimates(*args: Any) -> tuple[Any, RooflineResult, RooflineResult]:
        types, forward = roofline(f, mesh, in_specs, out_specs, **options)(*args)
        _, backward = roofline(f, mesh, in_specs, out_specs, vjp=True, **options)(*args)
        return types, forward, backward

    return estimates
