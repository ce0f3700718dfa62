# SPDX-License-Identifier: Apache-2.0
"""Linear algebra: batches of matrices may be split, matrices not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..diagnostics.errors import ShardingTypeError
from ..programs.propagation import Propagation, family_rules
from ..types.layouts import entries_of

# The number of dimensions of one example of each operand, where it is not two.
_RANKS = {
    "cholesky_update": (2, 1),
    "householder_product": (2, 1),
    "ormqr": (2, 1, 2),
    "lu_pivots_to_permutation": (1,),
    "tridiagonal_solve": (1, 1, 1, 2),
    "geqp3": (2, 1),
}


def _batched(name: str, multiple_results: bool) -> Any:
    ranks = _RANKS.get(name)

    def split(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Any:
        batch: list[Any] = []
        for position, aval in enumerate(operands):
            rank = 2 if ranks is None else ranks[position]
            entries = entries_of(aval)
            if any(entries[max(aval.ndim - rank, 0) :]):
                raise ShardingTypeError(
                    f"Input {position} to {name} must be unsharded on non-batch dimensions, but "
                    f"got {aval.layout.spec}."
                )
            own = entries[: max(aval.ndim - rank, 0)]
            if position and own != tuple(batch) and any(own) and any(batch):
                raise ShardingTypeError(
                    f"The batch dimensions of the inputs to {name} must be sharded alike, got "
                    + ", ".join(each.str_short() for each in operands)
                )
            batch = list(own) if any(own) or not batch else batch
        split = [(*batch, *(None,) * (result.ndim - len(batch))) for result in results]
        return split if multiple_results else split[0]

    return split


family_rules["linalg"] = lambda primitive: Propagation(
    _batched(primitive.name, primitive.multiple_results)
)
