# SPDX-License-Identifier: Apache-2.0
"""Reference rules of collectives over positional axes.

Named axes do not reach this evaluator. `vmap` rewrites collectives over its axis name, for example
to reductions over positional axes. Only evaluators with several devices run `shard_map`.
"""

from __future__ import annotations

import numpy as np

from ..lax.collectives.named_axes import is_positional, psum_invariant_p, pvary_p
from ..lax.collectives.operations import (
    all_gather_p,
    all_to_all_p,
    axis_index_p,
    pbroadcast_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    psum_p,
    reduce_scatter_p,
)
from ..lax.reductions import reduce_max_p, reduce_min_p, reduce_sum_p
from ..programs.primitives import Primitive
from . import reductions as reductions  # the import defines rules that are used below
from .tables import reference_rules


def _reduction(primitive: Primitive, over_positional_axes: Primitive) -> None:
    reduce = reference_rules[over_positional_axes]

    def rule(x: np.ndarray, *, axes: tuple, axis_index_groups: tuple | None) -> np.ndarray:
        named = [axis for axis in axes if not is_positional(axis)]
        if named:
            raise NameError(
                f"{primitive.name} over the named axes {named} has reached the evaluator: bind the "
                "names with vmap(..., axis_name=...) or shard_map"
            )
        return reduce(x, axes=axes)

    reference_rules.define(primitive, rule)


_reduction(psum_p, reduce_sum_p)
_reduction(pmax_p, reduce_max_p)
_reduction(pmin_p, reduce_min_p)

for _primitive in (
    axis_index_p,
    all_gather_p,
    reduce_scatter_p,
    ppermute_p,
    pbroadcast_p,
    all_to_all_p,
    psum_invariant_p,
    pvary_p,
):
    reference_rules.exempt(
        _primitive,
        reason="no named axis reaches the evaluator, because vmap rewrites the collective",
    )
