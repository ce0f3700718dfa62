# SPDX-License-Identifier: Apache-2.0
"""Traced programs and options of `jit`, made of the parameters of a `jit` equation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir.programs.calls.options import JitOptions
from olympus_ir.programs.calls.traced_programs import TracedProgram, traced_program
from olympus_ir.trees import pytrees
from olympus_ir.types.placement import UNSPECIFIED

from ..arrays.layouts import Format

__all__ = ["options_of_params", "program_of_params"]


def program_of_params(
    params: dict[str, Any], in_tree: Any, out_tree: Any, consts: Sequence[Any]
) -> TracedProgram:
    """Returns the program that an equation calls.

    Args:
      params: the parameters of the equation.
      in_tree: the structure of ``(args, kwargs)``.
      out_tree: the structure of the result.
      consts: the values of the first inputs, which are no arguments.

    Raises:
      ValueError: the program has another number of inputs or results.
    """
    closed = params["jaxpr"]
    inputs, outputs = len(closed.in_avals), len(closed.out_avals)
    if len(consts) + in_tree.num_leaves != inputs or out_tree.num_leaves != outputs:
        raise ValueError(
            f"the program of {params['name']} has {inputs} inputs and {outputs} results, got "
            f"{len(consts)} constants, a structure of {in_tree.num_leaves} arguments and one of "
            f"{out_tree.num_leaves} results"
        )
    return traced_program(closed, out_tree, dict(params), list(consts), in_tree)


def options_of_params(
    params: dict[str, Any], in_tree: Any, out_tree: Any, num_consts: int
) -> JitOptions:
    """Returns the options of `jit` of which an equation has the given parameters.

    Args:
      params: the parameters of the equation.
      in_tree: the structure of ``(args, kwargs)``.
      out_tree: the structure of the result.
      num_consts: the number of inputs before the arguments.

    Raises:
      ValueError: a keyword argument has a sharding or a layout.
    """
    requests = _requests(params["in_shardings"], params["in_layouts"])[num_consts:]
    args_tree, _ = in_tree.children()
    by_position, by_keyword = requests[: args_tree.num_leaves], requests[args_tree.num_leaves :]
    if any(request is not None for request in by_keyword):
        raise ValueError(
            f"`{params['name']}` has shardings or layouts of keyword arguments; pass the arguments "
            "by position"
        )
    of_results = _requests(params["out_shardings"], params["out_layouts"])
    placement = []
    for option, tree, values in (
        ("in_shardings", args_tree, by_position),
        ("out_shardings", out_tree, of_results),
    ):
        leaves, structure = pytrees.tree_flatten(pytrees.tree_unflatten(tree, values))
        if leaves:
            placement.append((option, (structure, tuple(leaves))))
    return JitOptions(
        keep_unused=params["keep_unused"],
        inline=params["inline"],
        name=params["name"],
        placement=tuple(placement),
        compiler_options=tuple(params["compiler_options_kvs"]),
    )


def _requests(shardings: Sequence[Any], layouts: Sequence[Any]) -> list[Any]:
    """Returns the sharding or format of each value; None for values that have neither."""
    found = []
    for sharding, layout in zip(shardings, layouts, strict=True):
        sharding = None if sharding is UNSPECIFIED else sharding
        found.append(sharding if layout is None else Format(layout, sharding))
    return found
