# SPDX-License-Identifier: Apache-2.0
"""Registration of other libraries' lowering rules, and functions for writing them.

`olympus.interpreters.mlir` exports these functions. Rules build at MLIR's current insertion point,
so a rule can open a region with MLIR's builders and lower a function into it.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from olympus_ir.programs.olympuspr import (
    ClosedOlympuspr,
    Olympuspr,
    close_olympuspr,
    constants_as_inputs,
)
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.trees import pytrees
from olympus_ir.types.effects import lowerable_effects

from .. import mlir
from ..context import LoweringContext, ModuleLowering
from ..functions import argument_attributes, result_attributes
from ..merging import merge_modules
from ..mlir import ir
from ..rules.calls import call_program
from ..tables import lowering_rules, rules_for_platform
from .library_operations import flatten_ir_values
from .rule_context import (
    LoweringParameters,
    LoweringResult,
    LoweringRuleContext,
    ModuleContext,
    ShapePolyLoweringState,
    TokenSet,
    enclosing_context,
    lowering_context,
)

LoweringRule = Callable[..., Any]

_PLATFORMS = {"gpu": ("cuda", "rocm")}


def register_lowering(
    prim: Primitive,
    rule: LoweringRule,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> None:
    """Defines or replaces the lowering rule of a primitive.

    Args:
      prim: the primitive.
      rule: a function ``(context, *operands, **params)`` that returns one result or a sequence
        of results. The context is a `LoweringRuleContext`. Operations may be built with the
        generated builders of MLIR's Python bindings.
      platform: the platform of the rule; None for all.
      inline: ignored, because operations are always inlined.
      cacheable: ignored, because equal equations share no operations.
    """
    entered = entered_rule(prim, rule)
    if platform is None:
        lowering_rules[prim] = entered
        return
    for name in _PLATFORMS.get(platform, (platform,)):
        rules_for_platform(name)[prim] = entered


def entered_rule(prim: Primitive, rule: LoweringRule) -> LoweringRule:
    """Converts a rule in JAX's form to a rule of this package."""

    def entered(block: LoweringContext, *operands: Any, **params: Any) -> Any:
        context = LoweringRuleContext.of(block)
        with mlir.context(), block.location, block.insertion_point:
            results = rule(context, *operands, **params)
        if context.tokens_in:
            _take_tokens(block, context)
        if isinstance(results, ir.Value):
            results = [results]
        results = flatten_ir_values(results)
        return results if prim.multiple_results else results[0]

    return entered


def _take_tokens(block: LoweringContext, context: LoweringRuleContext) -> None:
    if context.tokens_out is None or context.tokens_out.effects() != context.tokens_in.effects():
        raise ValueError(
            f"the lowering rule of `{context.primitive}` must state the tokens that follow it: "
            "primitives with ordered effects call `ctx.set_tokens_out`, with a token for each of "
            f"{sorted(map(str, context.tokens_in.effects()))}"
        )
    block.tokens.update(context.tokens_out.items())


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> LoweringRule:
    """Returns a rule that traces a function and lowers its program in place.

    Args:
      fun: takes the operands and the parameters.
      multiple_results: whether the function returns a sequence of results.
    """

    def rule(context: Any, *operands: Any, **params: Any) -> list[Any]:
        block = lowering_context(context)
        avals = tuple(mlir.unvarying(aval) for aval in context.avals_in)
        closed = _traced(block.module, fun, avals, params, multiple_results)
        results = block.lower(closed, flatten_ir_values(operands))
        if isinstance(context, LoweringRuleContext) and context.tokens_in:
            context.set_tokens_out(TokenSet(block.tokens))
        return results

    return rule


def _traced(
    module: ModuleLowering,
    fun: Callable[..., Any],
    avals: tuple[Any, ...],
    params: dict[str, Any],
    multiple_results: bool,
) -> ClosedOlympuspr:
    """Returns the program of a function. Equal equations of a module share the program."""

    def flat(*args: Any) -> Any:
        results = fun(*args, **params)
        return pytrees.tree_leaves(results) if multiple_results else [results]

    key = (fun, avals, tuple(params.items()), multiple_results)
    try:
        closed = module._expanded.get(key)
    except TypeError:  # a parameter is unhashable
        return trace_to_closed(flat, avals)
    if closed is None:
        closed = module._expanded[key] = trace_to_closed(flat, avals)
    return closed


# ---- programs ----


def olympuspr_subcomp(
    ctx: ModuleContext,
    olympuspr: Olympuspr,
    name_stack: Any,
    tokens: TokenSet,
    consts_for_constvars: Sequence[Any],
    *args: Any,
    dim_var_values: Sequence[Any],
    const_lowering: dict[Any, Any],
    outer_traceback: Any,
) -> tuple[list[Any], TokenSet]:
    """Emits a program's operations at the current insertion point.

    Args:
      ctx: the module.
      olympuspr: the program.
      name_stack: the prefix of the names of the operations.
      tokens: the current tokens of the program's ordered effects.
      consts_for_constvars: the values of the program's constants.
      *args: the values of the program's operands.
      dim_var_values: the sizes of symbolic dimensions.
      const_lowering: ignored, so constants may be built twice.
      outer_traceback: the source lines for operations that have no traceback.

    Returns:
      The values of the results, and the tokens after the program.
    """
    block = enclosing_context(ctx, str(name_stack))
    block.tokens = dict(tokens.items())
    closed = close_olympuspr(constants_as_inputs(olympuspr))
    results = block.lower(closed, flatten_ir_values([*consts_for_constvars, *args]))
    return results, TokenSet(block.tokens)


def core_call_lowering(
    ctx: LoweringRuleContext, *args: Any, name: str, backend: Any = None, call_jaxpr: Any
) -> list[Any]:
    """Lowers a call: emits the program as a function of the module, and calls it.

    Args:
      ctx: the context of the equation.
      *args: the values of the operands.
      name: the function's name.
      backend: ignored.
      call_jaxpr: the program.
    """
    block = lowering_context(ctx)
    closed = close_olympuspr(call_jaxpr) if isinstance(call_jaxpr, Olympuspr) else call_jaxpr
    results = call_program(block, name, closed, flatten_ir_values(args))
    if isinstance(ctx, LoweringRuleContext) and ctx.tokens_in:
        ctx.set_tokens_out(TokenSet(block.tokens))
    return results


def lower_olympuspr_to_fun(
    ctx: ModuleContext,
    name: str,
    olympuspr: ClosedOlympuspr,
    effects: Sequence[Any],
    *,
    num_const_args: int,
    main_function: bool = False,
    replicated_args: Sequence[bool] | None = None,
    in_avals: Sequence[Any],
    arg_shardings: Sequence[Any] | None = None,
    result_shardings: Sequence[Any] | None = None,
    use_sharding_annotations: bool = True,
    input_output_aliases: Sequence[int | None] | None = None,
    xla_donated_args: Sequence[bool] | None = None,
    arg_names: Sequence[str | None] | None = None,
    result_names: Sequence[str] | None = None,
    arg_memory_kinds: Sequence[str | None] | None = None,
    result_memory_kinds: Sequence[str | None] | None = None,
    arg_layouts: Sequence[Any] | None = None,
    result_layouts: Sequence[Any] | None = None,
    propagated_out_mem_kinds: tuple[str | None, ...] | None = None,
) -> Any:
    """Emits a program as a function of the module.

    The operands of the function are the index of the platform if there are several, the tokens of
    the effects, and the program's operands. Its results are the tokens and the program's results.

    Args:
      ctx: the module.
      name: the function's name, which is made unique.
      olympuspr: the program.
      effects: the program's ordered effects.
      num_const_args: the number of operands that are constants of the program: all constants, or
        none.
      main_function: whether the function is the main function.
      replicated_args: for each operand, whether it is the same on all replicas.
      in_avals: the operands' types.
      arg_shardings: the shardings of operands, as shardings of OLYMPUS or of XLA.
      result_shardings: the shardings of results.
      use_sharding_annotations: whether to annotate the shardings.
      input_output_aliases: for each operand, the result that reuses its memory, or None.
      xla_donated_args: for each operand, whether the compiler may reuse its memory for a result.
      arg_names: names of operands, for readers of the module.
      result_names: names of results.
      arg_memory_kinds: the memory kinds of operands.
      result_memory_kinds: the memory kinds of results.
      arg_layouts: the layouts of operands.
      result_layouts: the layouts of results.
      propagated_out_mem_kinds: the memory kinds of results for which no kind is given.

    Returns:
      The function, an MLIR operation.
    """
    module = ctx._module_lowering
    if num_const_args:
        if num_const_args != len(olympuspr.consts):
            raise ValueError(
                f"num_const_args is {num_const_args}, and the program has {len(olympuspr.consts)} "
                "constants: pass all of them as operands, or none"
            )
        olympuspr = close_olympuspr(constants_as_inputs(olympuspr.jaxpr))
    if len(in_avals) != len(olympuspr.in_avals):
        raise ValueError(
            f"in_avals has {len(in_avals)} types, and the program takes {len(olympuspr.in_avals)} "
            "operands"
        )
    of_arguments = argument_attributes(
        module,
        in_avals,
        num_tokens=len(effects),
        out_avals=olympuspr.out_avals,
        replicated=replicated_args,
        shardings=arg_shardings if use_sharding_annotations else None,
        aliases=input_output_aliases,
        donated=xla_donated_args,
        memory_kinds=arg_memory_kinds,
        layouts=arg_layouts,
    )
    of_results = result_attributes(
        module,
        olympuspr.out_avals,
        shardings=result_shardings if use_sharding_annotations else None,
        names=result_names,
        memory_kinds=propagated_out_mem_kinds or result_memory_kinds,
        layouts=result_layouts,
    )
    unique = name if main_function else module.unique_name(name)
    symbol = module.add_function(
        unique,
        olympuspr,
        "",
        tuple(effects),
        public=True,
        arg_attributes=of_arguments if any(of_arguments) else None,
        result_attributes=of_results if any(of_results) else None,
    )
    table = ir.SymbolTable(mlir.with_dialect_classes(module.module).operation)
    function = table[symbol]
    first = len(function.arguments) - len(in_avals)
    for argument, given in zip(list(function.arguments)[first:], arg_names or (), strict=False):
        if given:
            argument.set_location(ir.Location.name(given, context=ctx.context))
    if not main_function:
        function.attributes["sym_visibility"] = mlir.string("private")
    return function


def lower_olympuspr_to_module(
    module_name: str,
    olympuspr: ClosedOlympuspr,
    *,
    num_const_args: int,
    in_avals: Sequence[Any],
    ordered_effects: Sequence[Any],
    platforms: Sequence[str],
    backend: Any,
    axis_context: Any,
    donated_args: Sequence[bool],
    replicated_args: Sequence[bool] | None = None,
    arg_shardings: Sequence[Any] | None = None,
    result_shardings: Sequence[Any] | None = None,
    in_layouts: Sequence[Any] | None = None,
    out_layouts: Sequence[Any] | None = None,
    arg_names: Sequence[str | None] | None = None,
    result_names: Sequence[str] | None = None,
    num_partitions: int = 1,
    all_default_mem_kind: bool = True,
    input_output_aliases: Sequence[int | None] | None = None,
    propagated_out_mem_kinds: tuple[str | None, ...] | None = None,
    lowering_parameters: LoweringParameters,
) -> LoweringResult:
    """Lowers a program to the function ``main`` of a new module.

    Args:
      module_name: the name of the module.
      olympuspr: the program.
      num_const_args: the number of operands that are constants of the program: all constants, or
        none.
      in_avals: the operands' types.
      ordered_effects: the ordered effects, in the order of their tokens.
      platforms: the platforms to lower for.
      backend: the client of the devices; None if only platforms are known.
      axis_context: the context of the devices; None to use ``num_partitions``.
      donated_args: for each operand, whether results may reuse its memory.
      replicated_args: for each operand, whether it is the same on all replicas.
      arg_shardings: the shardings of operands.
      result_shardings: the shardings of results.
      in_layouts: the layouts of operands.
      out_layouts: the layouts of results.
      arg_names: names of operands.
      result_names: names of results.
      num_partitions: the number of devices.
      all_default_mem_kind: whether all operands and results are in the devices' default memory.
      input_output_aliases: for each operand, the result that reuses its memory, or None.
      propagated_out_mem_kinds: the memory kinds of results.
      lowering_parameters: choices about the lowering.

    Raises:
      ValueError: the program has effects that cannot be lowered.
    """
    unknown = lowerable_effects.filter_not_in(olympuspr.effects)
    if unknown:
        raise ValueError(f"the program has effects that cannot be lowered: {unknown}")
    platforms = tuple(platforms)
    with mlir.lowering_lock, mlir.context(), mlir.unknown_location():
        module = ModuleLowering(module_name, platforms, tuple(ordered_effects))
        module.set_partitions(num_partitions)
        state = ShapePolyLoweringState((), platforms)
        context = ModuleContext(
            platforms=platforms,
            backend=backend,
            axis_context=axis_context,
            keepalives=module.keep_alive,
            channel_iterator=itertools.count(1),
            host_callbacks=module.host_callbacks,
            lowering_parameters=lowering_parameters,
            shape_poly_state=state,
            all_default_mem_kind=all_default_mem_kind,
            _lowering=module,
        )
        with _other_rules(platforms, lowering_parameters.override_lowering_rules or ()):
            lower_olympuspr_to_fun(
                context,
                "main",
                olympuspr,
                ordered_effects,
                num_const_args=num_const_args,
                main_function=True,
                replicated_args=replicated_args,
                in_avals=in_avals,
                arg_shardings=arg_shardings,
                result_shardings=result_shardings,
                input_output_aliases=input_output_aliases,
                xla_donated_args=donated_args if input_output_aliases is None else None,
                arg_names=arg_names,
                result_names=result_names,
                arg_layouts=in_layouts,
                result_layouts=out_layouts,
                propagated_out_mem_kinds=propagated_out_mem_kinds,
            )
    return LoweringResult(module.module, module.keep_alive, module.host_callbacks, state)


@contextlib.contextmanager
def _other_rules(
    platforms: Sequence[str], rules: Sequence[tuple[Primitive, Any]]
) -> Iterator[None]:
    """Context manager that replaces lowering rules. The caller must hold `mlir.lowering_lock`."""
    entered = {primitive: entered_rule(primitive, rule) for primitive, rule in rules}
    tables = [rules_for_platform(platform) for platform in platforms]
    saved = [(table, primitive, table.find(primitive)) for table in tables for primitive in entered]
    for table, primitive, _ in saved:
        table[primitive] = entered[primitive]
    try:
        yield
    finally:
        for table, primitive, rule in saved:
            if rule is None:
                del table[primitive]
            else:
                table[primitive] = rule


def merge_mlir_modules(
    dst_module: Any, sym_name: str, src_module: Any, dst_symtab: Any = None
) -> str:
    """Moves the functions of a module into another module.

    Args:
      dst_module: the module that receives the functions.
      sym_name: the new name of the function ``main``, which is made unique.
      src_module: the module whose functions are moved. It cannot be used afterwards.
      dst_symtab: the symbol table of ``dst_module``, which is updated.

    Returns:
      The name of the former ``main``.
    """
    return merge_modules(dst_module, sym_name, src_module, dst_symtab)
