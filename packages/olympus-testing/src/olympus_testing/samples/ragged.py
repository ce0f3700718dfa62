# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of `ragged_dot_general`, the product with groups of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax

from .declarations import FLOATS, Operand, Operation, sample


def _ragged(
    label: str,
    lhs: tuple,
    rhs: tuple,
    sizes: Any,
    contracting: tuple,
    batch: tuple = ((), ()),
    ragged: int = 0,
    groups: tuple = (0,),
    **options: Any,
) -> Operation:
    params = {
        "ragged_dot_dimension_numbers": lax.RaggedDotDimensionNumbers(
            (contracting, batch), (ragged,), groups
        ),
        "precision": None,
        "preferred_element_type": None,
        "group_offset": None,
        "out_sharding": None,
    }
    return Operation(
        label,
        (Operand(lhs), Operand(rhs), np.asarray(sizes, np.int32)),
        params,
        differentiable=(0, 1),
        batchable=(0, 1),
        **options,
    )


sample(
    lax.ragged_dot_general_p,
    _ragged("rows", (5, 3), (2, 3, 4), [2, 3], ((1,), (1,)), dtypes=(*FLOATS, np.int32)),
    _ragged("rows_left_over", (5, 3), (3, 3, 4), [1, 0, 2], ((1,), (1,))),
    _ragged(
        "rows_of_batches", (2, 5, 3), (2, 2, 3, 4), [2, 2], ((2,), (2,)), ((0,), (0,)), 1, (1,)
    ),
    _ragged(
        "sizes_of_batches",
        (2, 5, 3),
        (2, 2, 3, 4),
        [[2, 3], [1, 1]],
        ((2,), (2,)),
        ((0,), (0,)),
        1,
        (1,),
    ),
    _ragged(
        "several_free", (2, 5, 3), (3, 4, 2), [[1, 2], [3, 1]], ((2,), (0,)), ragged=1, groups=(2,)
    ),
    _ragged("two_contracted", (5, 3, 2), (2, 2, 3, 4), [2, 3], ((1, 2), (2, 1))),
    _ragged("contracted", (5, 3), (5, 4), [2, 2], ((0,), (0,)), groups=()),
    _ragged("contracted_batches", (2, 5, 3), (2, 5, 4), [2, 2], ((1,), (1,)), ((0,), (0,)), 1, ()),
    _ragged("batch", (5, 2, 3), (5, 3, 4), [2, 2], ((2,), (1,)), ((0,), (0,)), groups=()),
)
