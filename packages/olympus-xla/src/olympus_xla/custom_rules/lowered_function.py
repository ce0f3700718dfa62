# SPDX-License-Identifier: Apache-2.0
"""Functions with lowering rules. Each function becomes a separate primitive."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import FlatFunction
from olympus_ir.types.avals import get_aval

from ..calls.eager import compile_and_run
from ..compiling.lowering.adapters.rules_of_libraries import lower_fun, register_lowering

__all__ = ["with_lowering"]


def with_lowering(
    fun: Callable[..., Any],
    definition: Callable[..., Any],
    rules: Mapping[str | None, Callable[..., Any]],
    name: str,
) -> Callable[..., Any]:
    """Returns a function that is lowered by the given rules.

    Args:
      fun: the function, which is compiled for platforms without a rule.
      definition: a function from which the results' types are inferred.
      rules: lowering rules by platform; the key None stands for all other platforms. A rule takes a
        context and the flat operands, and returns the flat results.
      name: the name of the function in programs.
    """
    primitive = Primitive.declare(name, multiple_results=True, cache_inference=False)
    primitive.def_abstract_eval(lambda *avals, out_avals, **_: out_avals)
    primitive.def_impl(lambda *args, **params: compile_and_run(primitive, args, params))

    def unlowered(*operands: Any, in_tree: Any, **_: Any) -> Any:
        args, _ = pytrees.tree_unflatten(in_tree, operands)
        return pytrees.tree_leaves(fun(*args))

    def entered(rule: Callable[..., Any], context: Any, *operands: Any, **_: Any) -> Any:
        return rule(context, *operands)

    register_lowering(primitive, lower_fun(unlowered))
    for platform, rule in rules.items():
        register_lowering(primitive, functools.partial(entered, rule), platform)

    def called(*args: Any) -> Any:
        leaves, in_tree = pytrees.tree_flatten((args, {}))
        flat = FlatFunction(definition, in_tree)
        closed = trace_to_closed(flat, [get_aval(leaf) for leaf in leaves])
        out = primitive.bind(*leaves, in_tree=in_tree, out_avals=tuple(closed.out_avals))
        return pytrees.tree_unflatten(flat.out_tree, out)

    return called
