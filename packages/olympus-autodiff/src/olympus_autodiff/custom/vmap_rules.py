# SPDX-License-Identifier: Apache-2.0
"""Forward derivatives of the batching rules of `custom_vmap` functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from olympus_batching.custom_batching import called_rule
from olympus_batching.dimensions import BatchAxis, materialize, to_front
from olympus_batching.trace import call_batched
from olympus_ir.diagnostics.source_info import function_name
from olympus_ir.trees import pytrees
from olympus_ir.types.records import Record

from ..forward.jvp import jvp_flat
from ..zeros import Zero, instantiate

__all__ = ["JvpOfVmapRule"]


class JvpOfVmapRule(Record):
    """Batching rule of the forward derivative of a `custom_vmap` function.

    The rule calls the function's own batching rule, on batched primals and tangents or inside of
    another batch.

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
        pairs = self._pairs(in_batched, primals, tangents)
        batched = None
        if not any(pair.batched and pair.tangent_batched for pair in pairs):
            batched = self._of_examples(axis_size, pairs)
        values, flags = self._of_batch(axis_size, pairs) if batched is None else batched
        count = len(self.moving_out)
        return (values[:count], values[count:]), (flags[:count], flags[count:])

    def _pairs(
        self, in_batched: Any, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> list[_Pair]:
        primal_flags, tangent_flags = in_batched
        flagged_tangents = iter(zip(tangents, tangent_flags, strict=True))
        return [
            _Pair(primal, batched, *(next(flagged_tangents) if moves else (None, batched)))
            for primal, batched, moves in zip(primals, primal_flags, self.moving_in, strict=True)
        ]

    def _of_examples(
        self, axis_size: int, pairs: Sequence[_Pair]
    ) -> tuple[list[Any], list[bool]] | None:
        """Batches the derivative of the rule if no argument is batched together with its tangent.

        The rule gets unbatched arguments, as in JAX. In a Jacobian, for example, only the tangents
        are batched.

        Returns:
          The results and tangents, and whether each is batched; None if the rule batches results
          of arguments that are not batched.
        """
        out_flags: list[bool] = []

        def of_one(*leaves: Any) -> list[Any]:
            values = iter(leaves[len(pairs) :])
            both = [None if pair.tangent is None else next(values) for pair in pairs]
            outs, flags = self._derivative(
                axis_size, leaves[: len(pairs)], both, [False] * len(pairs)
            )
            out_flags[:] = flags
            return outs

        moving = [pair for pair in pairs if pair.tangent is not None]
        leaves = [*[pair.primal for pair in pairs], *[pair.tangent for pair in moving]]
        flags = [*[pair.batched for pair in pairs], *[pair.tangent_batched for pair in moving]]
        dims = [0 if flag else None for flag in flags]
        outs, out_dims = call_batched(of_one, BatchAxis(axis_size), leaves, dims)
        if any(out_flags):
            return None
        fronted = [to_front(out, dim) for out, dim in zip(outs, out_dims, strict=True)]
        return fronted, [dim is not None for dim in out_dims]

    def _of_batch(self, axis_size: int, pairs: Sequence[_Pair]) -> tuple[list[Any], list[bool]]:
        """Differentiates the rule on batched arguments. If only the primal or only the tangent is
        batched, the other one is broadcast along the batch dimension.
        """
        flags = [pair.batched or pair.tangent_batched for pair in pairs]
        primals, tangents = [], []
        for pair, flag in zip(pairs, flags, strict=True):
            primal, tangent = pair.primal, pair.tangent
            if flag and not pair.batched:
                primal = materialize(primal, axis_size, None, 0)
            if flag and not pair.tangent_batched:
                tangent = materialize(tangent, axis_size, None, 0)
            primals.append(primal)
            tangents.append(tangent)
        return self._derivative(axis_size, primals, tangents, flags)

    def _derivative(
        self,
        axis_size: int,
        primals: Sequence[Any],
        tangents: Sequence[Any],
        flags: Sequence[bool],
    ) -> tuple[list[Any], list[bool]]:
        """Differentiates the rule, for arguments that are batched as the flags say.

        Returns:
          The results followed by the tangents that they have, and whether each is batched.
        """
        out_flags: Sequence[bool] = ()

        def run(*leaves: Any) -> list[Any]:
            nonlocal out_flags
            args, _ = pytrees.tree_unflatten(self.in_tree, leaves)
            in_flags, _ = pytrees.tree_unflatten(self.in_tree, flags)
            outs, out_flags = called_rule(self.rule, axis_size, in_flags, args, self.out_tree)
            return outs

        moving = [
            Zero.of(primal) if tangent is None else tangent
            for primal, tangent in zip(primals, tangents, strict=True)
        ]
        results, result_tangents = jvp_flat(run, primals, moving)
        moved = [
            (instantiate(tangent), flag)
            for tangent, flag, moves in zip(
                result_tangents, out_flags, self.moving_out, strict=True
            )
            if moves
        ]
        values = [*results, *[tangent for tangent, _ in moved]]
        return values, [*out_flags, *[flag for _, flag in moved]]


class _Pair(NamedTuple):
    """An argument, its tangent or None, and whether each is batched."""

    primal: Any
    batched: bool
    tangent: Any
    tangent_batched: bool
