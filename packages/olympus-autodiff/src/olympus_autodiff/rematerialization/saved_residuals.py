# SPDX-License-Identifier: Apache-2.0
"""The residuals that reverse mode saves, listed with their origins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_ir import lax
from olympus_ir.diagnostics.source_info import summarize
from olympus_ir.programs.olympuspr import Var
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import debug_info_of_tree
from olympus_ir.types.avals import AbstractValue

from ..reverse.vjp import vjp
from ..zeros import aval_of
from .policies import name_p

__all__ = ["print_saved_residuals", "saved_residuals"]


def saved_residuals(
    fun: Callable[..., Any], *args: Any, **kwargs: Any
) -> list[tuple[AbstractValue, str]]:
    """Lists the values that `vjp` of a function keeps for the backward pass.

    Args:
      fun: the function.
      *args: the arguments; only their types matter.
      **kwargs: the keyword arguments.

    Returns:
      For each value, its type and a text that describes its origin.
    """
    leaves, tree = pytrees.tree_flatten((args, kwargs))

    def residuals(*leaves: Any) -> list[Any]:
        def of_leaves(*leaves: Any) -> Any:
            args, kwargs = pytrees.tree_unflatten(tree, leaves)
            return fun(*args, **kwargs)

        return pytrees.tree_leaves(vjp(of_leaves, *leaves)[1])

    info = debug_info_of_tree("saved_residuals", fun, tree)
    olympuspr, _ = trace_to_olympuspr(residuals, [aval_of(leaf) for leaf in leaves], info)
    names = info.arg_names or ()
    origins: dict[Any, str] = dict.fromkeys(olympuspr.constvars, "from a constant")
    for position, var in enumerate(olympuspr.invars):
        name = names[position] if position < len(names) else f"number {position}"
        origins[var] = f"from the argument {name}"
    for equation in olympuspr.eqns:
        line = summarize(equation.source_info)
        description = f"output of {equation.primitive.name}"
        if equation.primitive is lax.jit_p:
            description = f"output of jitted function '{equation.params['name']}'"
        elif equation.primitive is name_p:
            description = f"named '{equation.params['name']}'"
        for var in equation.outvars:
            origins[var] = f"{description} from {line}"
    entries = []
    for atom in olympuspr.outvars:
        origin = origins[atom] if isinstance(atom, Var) else "from a literal"
        entries.append((atom.aval, origin))
    order = {var: position for position, var in enumerate(origins)}
    positions = [order.get(atom, len(order)) for atom in olympuspr.outvars]
    return [
        entry for _, entry in sorted(zip(positions, entries, strict=True), key=lambda pair: pair[0])
    ]


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Prints the values that `vjp` of a function keeps for the backward pass, one per line.

    Use it to see the values that `checkpoint` and its policies save.

    Args:
      f: the function.
      *args: the arguments; only their types matter.
      **kwargs: the keyword arguments.

    Example:
      >>> from olympus_ir import lax
      >>> print_saved_residuals(lambda x: lax.mul(x, x), 1.0)
      f32[] from the argument x
    """
    for aval, origin in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short(short_dtypes=True)} {origin}")
