# SPDX-License-Identifier: Apache-2.0
"""Samples of products of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax

from .declarations import BOOLS, FLOATS, NUMBERS, Operand, Operation, sample


def _product(
    label: str,
    lhs: tuple,
    rhs: tuple,
    contracting: tuple,
    batch: tuple = ((), ()),
    preferred_element_type: Any = None,
    **options: Any,
) -> Operation:
    params = {
        "dimension_numbers": (contracting, batch),
        "precision": None,
        "preferred_element_type": preferred_element_type,
        "out_sharding": None,
    }
    return Operation(label, (Operand(lhs), Operand(rhs)), params, **options)


sample(
    lax.dot_general_p,
    _product("matrices", (2, 3), (3, 4), ((1,), (0,)), dtypes=NUMBERS + BOOLS),
    _product("vectors", (3,), (3,), ((0,), (0,))),
    _product("outer", (2,), (3,), ((), ())),
    _product("batched", (5, 2, 3), (5, 3, 4), ((2,), (1,)), ((0,), (0,))),
    _product("permuted", (2, 5, 3), (3, 4, 5), ((2,), (0,)), ((1,), (2,))),
    _product("two_contracted", (2, 3, 4), (4, 3), ((1, 2), (1, 0))),
    _product("two_batched", (2, 3, 4), (3, 2, 4), ((2,), (2,)), ((0, 1), (1, 0))),
    _product("empty", (2, 0), (0, 3), ((1,), (0,))),
    _product(
        "wider_result",
        (2, 3),
        (3, 4),
        ((1,), (0,)),
        preferred_element_type=np.dtype(np.int32),
        dtypes=(np.int8,),
    ),
    _product(
        "wider_float",
        (2, 3),
        (3, 4),
        ((1,), (0,)),
        preferred_element_type=np.dtype(np.float32),
        dtypes=(np.float16,),
    ),
)


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


def _scaled(label: str, shapes: tuple, contracting: tuple, batch: tuple, dtype: Any) -> Operation:
    params = {
        "dimension_numbers": (contracting, batch),
        "preferred_element_type": np.dtype(dtype),
    }
    return Operation(label, tuple(map(Operand, shapes)), params, dtypes=(np.float32,))


sample(
    lax.scaled_dot_p,
    _scaled("blocks", ((2, 6), (6, 3), (2, 2), (3, 3)), ((1,), (0,)), ((), ()), np.float32),
    _scaled(
        "batches",
        ((5, 2, 4), (5, 4, 3), (5, 2, 1), (5, 4, 3)),
        ((2,), (1,)),
        ((0,), (0,)),
        np.float32,
    ),
)
