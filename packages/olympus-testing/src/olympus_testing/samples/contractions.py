# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of `dot_general` and `scaled_dot`."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax

from .declarations import BOOLS, NUMBERS, Operand, Operation, sample


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
