# SPDX-License-Identifier: Apache-2.0
"""Functions with user-defined rules for blocks: `custom_fusion`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.primitives import Primitive
from olympus_ir.trees import pytrees

from .inlining import run_program, traced

__all__ = ["custom_fusion", "custom_fusion_p", "run_custom"]

custom_fusion_p = Primitive.declare("custom_fusion", multiple_results=True, cache_inference=False)


@custom_fusion_p.def_abstract_eval
def _types(*avals: Any, jaxpr: Any, **params: Any) -> Any:
    return [atom.aval for atom in jaxpr.outvars]


@expansion_rules.define(custom_fusion_p)
def _expand(*operands: Any, jaxpr: Any, num_consts: int, **params: Any) -> list[Any]:
    return run_program(jaxpr, operands[:num_consts], operands[num_consts:])


def run_custom(equation: Any, operands: Sequence[Any]) -> list[Any]:
    """Evaluates a custom fusion outside of kernels."""
    return _expand(*operands, **equation.params)


class custom_fusion:
    """A function of arrays with user-defined rules for its blocks.

    Args:
      fun: the function of whole arrays.

    Example:
      >>> import numpy as np
      >>> @custom_fusion
      ... def add(x, y):
      ...     return x + y
      >>> add.def_pull_block_spec(lambda specs: (specs[0], specs[0]))
      >>> add(np.float32(1), np.float32(2))
      Array(3., dtype=float32)
    """

    eval_rule: Callable[..., Any] | None = None
    pull_block_spec_rule: Callable[..., Any] | None = None
    push_block_spec_rule: Callable[..., Any] | None = None
    pallas_impl: Callable[..., Any] | None = None

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun

    def def_eval_rule(self, eval_rule: Callable[..., Any]) -> None:
        """Defines how the output's blocks are computed: `(context, *blocks) -> tuple of blocks`."""
        self.eval_rule = eval_rule

    def def_pallas_impl(self, pallas_impl: Callable[..., Any]) -> None:
        """Defines the implementation within kernels; by default the implementation for arrays."""
        self.pallas_impl = pallas_impl

    def def_pull_block_spec(self, pull_block_spec_rule: Callable[..., Any]) -> None:
        """Defines how the specifications of the inputs follow from that of the output."""
        self.pull_block_spec_rule = pull_block_spec_rule

    def def_push_block_spec(self, push_block_spec_rule: Callable[..., Any]) -> None:
        """Defines how the specifications of the outputs follow from those of the inputs."""
        self.push_block_spec_rule = push_block_spec_rule

    def on_blocks(self, operands: Sequence[Any]) -> list[Any]:
        """Computes the output's blocks within a kernel."""
        function = self.pallas_impl
        if function is None and self.eval_rule is not None:
            return pytrees.tree_leaves(self.eval_rule(None, *operands))
        return pytrees.tree_leaves((function or self.fun)(*operands))

    def __call__(self, *args: Any) -> Any:
        leaves = pytrees.tree_leaves(args)
        program, consts, out_tree = traced(self.fun, args, {})
        results = custom_fusion_p.bind(
            *consts, *leaves, jaxpr=program, num_consts=len(consts), custom=self
        )
        return pytrees.tree_unflatten(out_tree, results)
