# SPDX-License-Identifier: Apache-2.0
"""Forward derivatives of the batching rules of `custom_vmap` functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_batching.custom_batching import called_rule
from olympus_batching.dimensions import materialize
from olympus_ir.diagnostics.source_info import function_name
from olympus_ir.trees import pytrees
from olympus_ir.types.records import Record

from ..forward.jvp import jvp_flat
from ..zeros import Zero, instantiate

__all__ = ["JvpOfVmapRule"]


class JvpOfVmapRule(Record):
    """Batching rule of the forward derivative of a `custom_vmap` function.

    The rule calls the function's own batching rule on batched primals and tangents.

    Attributes:
      rule: the rule of the function.
      in_tree: the structure of the function's arguments.
      out_tree: the structure of the function's result.
      moving_in: for each flat argument, whether it has a tangent.
      moving_out: for each flat result, whether it has a tangent.
    """

    rule: Callable[..., Any]
    in_tree: Any
    out_tree: Any
    moving_in: Sequence[bool]
    moving_out: Sequence[bool]

    def __init__(
        self,
        rule: Callable[..., Any],
        in_tree: Any,
        out_tree: Any,
        moving_in: Sequence[bool],
        moving_out: Sequence[bool],
    ) -> None:
        super().__init__(
            rule=rule,
            in_tree=in_tree,
            out_tree=out_tree,
            moving_in=moving_in,
            moving_out=moving_out,
        )

    @property
    def __name__(self) -> str:
        return function_name(self.rule)

    def __call__(
        self, axis_size: int, in_batched: Any, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> Any:
        """Calls the rule on primals and tangents, which are lists of leaves."""
        primals, tangents, flags = self._aligned(axis_size, in_batched, primals, tangents)
        out_flags: Sequence[bool] = ()

        def run(*leaves: Any) -> list[Any]:
            nonlocal out_flags
            args, _ = pytrees.tree_unflatten(self.in_tree, leaves)
            in_flags, _ = pytrees.tree_unflatten(self.in_tree, flags)
            outs, out_flags = called_rule(self.rule, axis_size, in_flags, args, self.out_tree)
            return outs

        results, result_tangents = jvp_flat(run, primals, tangents)
        moving = [
            (instantiate(tangent), flag)
            for tangent, flag, moves in zip(
                result_tangents, out_flags, self.moving_out, strict=True
            )
            if moves
        ]
        return (results, [t for t, _ in moving]), (list(out_flags), [flag for _, flag in moving])

    def _aligned(
        self, axis_size: int, in_batched: Any, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any], list[bool]]:
        """Returns primals, tangents, and flags of the primals that are batched with their tangents.

        If only one of the two is batched, the other is broadcast along the batch dimension.
        """
        primal_flags, tangent_flags = in_batched
        given = iter(zip(tangents, tangent_flags, strict=True))
        all_primals, all_tangents, flags = [], [], []
        for primal, batched, moves in zip(primals, primal_flags, self.moving_in, strict=True):
            tangent, also_batched = next(given) if moves else (None, batched)
            flag = batched or also_batched
            if flag and not batched:
                primal = materialize(primal, axis_size, None, 0)
            if flag and not also_batched:
                tangent = materialize(tangent, axis_size, None, 0)
            all_primals.append(primal)
            all_tangents.append(Zero.of(primal) if tangent is None else tangent)
            flags.append(flag)
        return all_primals, all_tangents, flags
