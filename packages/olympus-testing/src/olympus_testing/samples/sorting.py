# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of sorting and the selection of largest elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax

from .declarations import BOOLS, COMPLEXES, FLOATS, INTEGERS, Operand, Operation, sample


def _sort(label: str, operands: tuple, dimension: int, num_keys: int = 1, **options: Any):
    params = {"dimension": dimension, "is_stable": True, "num_keys": num_keys}
    return Operation(label, operands, params, **options)


sample(
    lax.sort_p,
    _sort("rows", (Operand((3, 4)),), 0, dtypes=FLOATS + INTEGERS + BOOLS + COMPLEXES),
    _sort("columns", (Operand((3, 4)),), 1),
    _sort("with_values", (Operand((3, 4)), Operand((3, 4))), 1),
    _sort(
        "two_keys",
        (Operand((8,), (0, 2), np.int32), Operand((8,)), Operand((8,), (0, 9), np.int32)),
        0,
        2,
        differentiable=(1,),
    ),
    _sort(
        "ties", (Operand((9,), (0, 2), np.int32), np.arange(9, dtype=np.int32)), 0, batchable=(0,)
    ),
    _sort(
        "special",
        (np.array([np.nan, 1.0, -np.inf, 0.0, -0.0, np.inf, np.nan, -1.0], np.float32),),
        0,
        dtypes=(np.float32,),
        differentiable=False,
    ),
)
sample(
    lax.top_k_p,
    Operation("columns", (Operand((3, 5)),), {"k": 2, "axis": 1}, dtypes=FLOATS + INTEGERS),
    Operation("rows", (Operand((5, 2)),), {"k": 3, "axis": 0}),
    Operation(
        "ties",
        (np.array([1.0, 3.0, 3.0, np.nan, 1.0, np.nan], np.float32),),
        {"k": 5, "axis": 0},
        dtypes=(np.float32,),
        differentiable=False,
    ),
)


def _approximate(
    label: str, shape: tuple, axis: int, differentiable: bool = True, **changes: Any
) -> Operation:
    params = {
        "k": 2,
        "reduction_dimension": axis,
        "recall_target": 0.95,
        "is_max_k": True,
        "reduction_input_size_override": -1,
        "aggregate_to_topk": True,
        **changes,
    }
    return Operation(label, (Operand(shape),), params, differentiable=differentiable)


sample(
    lax.approx_top_k_p,
    _approximate("largest", (3, 5), -1),
    _approximate("smallest", (5, 3), 0, is_max_k=False),
    _approximate("candidates", (2, 300), 1, differentiable=False, aggregate_to_topk=False),
)

sample(
    lax.order_statistics_p,
    Operation(
        "shared",
        (Operand((3, 5)), np.array([4, 0, 2], np.int32)),
        dtypes=FLOATS + INTEGERS + BOOLS + COMPLEXES,
    ),
    Operation("vector", (Operand((7,)), np.array([3, 3], np.int32))),
    Operation("by_line", (Operand((2, 2, 3)), Operand((2, 2, 2), (0, 3), np.int32))),
    Operation(
        "special",
        (
            np.array([np.nan, 1.0, -np.inf, 0.0, -0.0, np.inf, np.nan, -1.0], np.float32),
            np.arange(8, dtype=np.int32),
        ),
        dtypes=(np.float32,),
        differentiable=False,
    ),
)
