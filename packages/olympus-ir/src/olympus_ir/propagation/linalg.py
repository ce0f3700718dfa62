# SPDX-License-Identifier: Apache-2.0
"""Propagation rules of linear algebra, where only batch dimensions may be sharded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..diagnostics.errors import ShardingTypeError
from ..lax import linalg
from ..programs.primitives import Primitive
from ..programs.propagation import Propagation, propagation_rules
from ..types.layouts import entries_of

# Maps a primitive to the rank of each operand without batch dimensions.
_RANKS: dict[Primitive, tuple[int, ...]] = {
    linalg.cholesky_p: (2,),
    linalg.cholesky_update_p: (2, 1),
    linalg.symmetric_product_p: (2, 2),
    linalg.lu_p: (2,),
    linalg.lu_pivots_to_permutation_p: (1,),
    linalg.geqrf_p: (2,),
    linalg.geqp3_p: (2, 1),
    linalg.householder_product_p: (2, 1),
    linalg.ormqr_p: (2, 1, 2),
    linalg.qr_p: (2,),
    linalg.triangular_solve_p: (2, 2),
    linalg.tridiagonal_solve_p: (1, 1, 1, 2),
    linalg.eig_p: (2,),
    linalg.eigh_p: (2,),
    linalg.svd_p: (2,),
    linalg.hessenberg_p: (2,),
    linalg.schur_p: (2,),
    linalg.tridiagonal_p: (2,),
}


def _batched(name: str, ranks: tuple[int, ...], multiple_results: bool) -> Any:
    def split(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Any:
        batch: list[Any] = []
        for position, (aval, rank) in enumerate(zip(operands, ranks, strict=True)):
            entries = entries_of(aval)
            if any(entries[max(aval.ndim - rank, 0) :]):
                raise ShardingTypeError(
                    f"Input {position} to {name} must be unsharded on non-batch dimensions, but "
                    f"got {aval.layout.spec}."
                )
            leading = entries[: max(aval.ndim - rank, 0)]
            if position and leading != tuple(batch) and any(leading) and any(batch):
                raise ShardingTypeError(
                    f"The batch dimensions of the inputs to {name} must be sharded alike, got "
                    + ", ".join(operand.str_short() for operand in operands)
                )
            batch = list(leading) if any(leading) or not batch else batch
        split = [(*batch, *(None,) * (result.ndim - len(batch))) for result in results]
        return split if multiple_results else split[0]

    return split


for _primitive, _ranks in _RANKS.items():
    propagation_rules.define(
        _primitive,
        Propagation(_batched(_primitive.name, _ranks, _primitive.multiple_results)),
    )
