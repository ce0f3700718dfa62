# SPDX-License-Identifier: Apache-2.0
"""The tracing part of `jit`: the primitive, calls under another trace, and the function `jit`.

The evaluator compiles and runs programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np

from ..diagnostics import source_info
from ..diagnostics.name_stacks import no_names
from ..settings import config_states
from ..settings.naming import naming
from ..trees import pytrees
from ..trees.flattening import function_name
from ..types.placement import UNSPECIFIED
from .calls.options import JitOptions
from .calls.traced_programs import TracedProgram
from .calls.tracing import trace_call
from .evaluation import eval_olympuspr, evaluator
from .olympuspr import ClosedOlympuspr
from .primitives import instruction
from .rules import RuleTable
from .staging import StagingTrace
from .tracing import current

__all__ = ["call_under_trace", "jit", "jit_p", "number_rules", "places_values"]

F = TypeVar("F", bound=Callable[..., Any])

# Primitive that calls a compiled function. `olympus_ir.lax.calls` has related primitives.
jit_p = instruction("jit", multiple_results=True, family="calls", cache_inference=False)
jit_p.spreads_varying = False  # the program determines the types of the results

# Rules `rule(number, **params)` by which an inlined call applies a primitive to a Python number
# without recording an equation. A rule returns a Python number if the result is weakly typed.
number_rules: RuleTable[Callable[..., Any]] = RuleTable("number", package="olympus_ir", folder=None)


@jit_p.def_effectful_abstract_eval
def _jit_types(*avals: Any, jaxpr: ClosedOlympuspr, **params: Any) -> tuple[list, frozenset]:
    return jaxpr.out_avals, jaxpr.effects


def call_under_trace(
    fun: Callable[..., Any],
    options: JitOptions,
    args: tuple,
    kwargs: dict[str, Any],
    placement: Callable[[TracedProgram, JitOptions], dict[str, Any]] | None = None,
) -> Any:
    """Calls a jitted function during tracing by recording a `jit` equation.

    With the option `inline`, the equations of the function are recorded one by one instead. For
    this, the function is called directly. The exception is a call with numbers or NumPy arrays
    among the arguments. The function is then traced first, because a jitted function must receive
    traced arrays. With the option `plain_arguments`, the function accepts these arguments as they
    are.

    Args:
      fun: the function.
      options: the options of `jit`.
      args: the positional arguments.
      kwargs: the keyword arguments.
      placement: a function that returns the shardings and layouts of the equation, if the options
        ask for any. A call with shardings is never inlined.
    """
    if options.compiler_options and isinstance(current.trace, StagingTrace):
        _refuse_compiler_options(fun, options)
    # Array sizes may depend on elements here, so no program of an earlier call can be reused.
    if current.counts_sizes:
        return fun(*args, **kwargs)
    inline = options.inline and placement is None
    if inline and (options.plain_arguments or not _are_some_plain(options, args, kwargs)):
        return fun(*args, **kwargs)
    program, leaves = trace_call(fun, options, args, kwargs)
    operands = [*program.hoisted, *leaves]
    if inline:
        results = _inlined(program.params["jaxpr"], operands)
    else:
        params = program.params
        if placement is not None:
            params = {**params, **placement(program, options)}
        mesh = _mesh_in_force()
        if mesh is not None:
            params = {**params, "ctx_mesh": mesh}
        results = current.trace.process_primitive(jit_p, operands, params)
    return pytrees.tree_unflatten(program.out_tree, results)


def _mesh_in_force() -> Any:
    """Returns the mesh of `set_mesh` or `use_abstract_mesh`, or None; no mesh of a `shard_map`."""
    concrete, abstract = config_states.concrete_mesh.value, config_states.abstract_mesh.value
    if concrete is not None or abstract is None or abstract.manual_axes:
        return concrete
    return abstract


def places_values(params: dict[str, Any]) -> bool:
    """Returns whether the parameters of a call hold a sharding or a layout.

    Only those of `jit` equations can. Such a call must not be replaced by its equations.
    """
    shardings = (*params.get("in_shardings", ()), *params.get("out_shardings", ()))
    layouts = (*params.get("in_layouts", ()), *params.get("out_layouts", ()))
    return any(sharding is not UNSPECIFIED for sharding in shardings) or any(
        layout is not None for layout in layouts
    )


def _inlined(closed: ClosedOlympuspr, operands: list[Any]) -> list[Any]:
    """Records the equations of a program. Operations with a rule for numbers record no equation."""
    olympuspr = closed.jaxpr
    numbers: dict[Any, Any] = {
        var: operand
        for var, operand in zip(olympuspr.invars, operands, strict=True)
        if isinstance(operand, int | float | complex)
    }
    converted: dict[Any, Any] = {}
    rest = []
    for equation in olympuspr.eqns:
        number = numbers.get(equation.invars[0]) if len(equation.invars) == 1 else None
        rule = None if number is None else number_rules.rules.get(equation.primitive)
        if rule is None:
            rest.append(equation)
        else:
            converted[equation.outvars[0]] = rule(number, **equation.params)
    reduced = olympuspr.replace(invars=[*olympuspr.invars, *converted], eqns=rest)
    return eval_olympuspr(reduced, closed.consts, *operands, *converted.values())


def _are_some_plain(options: JitOptions, args: tuple, kwargs: dict[str, Any]) -> bool:
    """Returns whether some arguments that are not static are numbers or NumPy arrays."""
    count = len(args)
    static = {number % count for number in options.static_argnums if -count <= number < count}
    dynamic = [arg for position, arg in enumerate(args) if position not in static]
    dynamic += [arg for name, arg in kwargs.items() if name not in options.static_argnames]
    return any(isinstance(leaf, _PLAIN) for leaf in pytrees.tree_leaves(dynamic))


_PLAIN = (int, float, complex, np.ndarray, np.generic)


def _refuse_compiler_options(fun: Callable[..., Any], options: JitOptions) -> NoReturn:
    """Raises ValueError, because a nested call is compiled with the outer program's options."""
    source = source_info.SourceInfo(source_info.capture(), no_names)
    raise ValueError(
        f"`compiler_options` can only be passed to top-level `{naming.module}.jit`. Got "
        f"compiler_options={dict(options.compiler_options)} specified on a nested jit with name: "
        f"{options.name or function_name(fun)} and source info: {source_info.summarize(source)}"
    )


def jit(fun: F, **options: Any) -> F:
    """Returns the compiled form of a function, made by the current evaluator.

    Packages below olympus-xla use this function for their own compiled functions. Users call
    `olympus.jit`.

    Args:
      fun: the function.
      **options: the options of `jit_options`.

    Example:
      >>> from olympus_ir import lax
      >>> jit(lambda x: lax.mul(x, x))(3.0)
      Array(9., dtype=float32, weak_type=True)
    """
    compiled: Any = evaluator().jit(fun, **options)
    return compiled
