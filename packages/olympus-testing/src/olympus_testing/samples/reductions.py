# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of reductions and cumulative operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax, trace_to_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.types.avals import ShapedArray

from .declarations import BOOLS, FLOATS, INTEGERS, NUMBERS, Operand, Operation, sample

_reduced_axes = {"columns": (1,), "rows": (0,), "both": (0, 1), "none": ()}


def _reductions(domain: tuple, dtypes: tuple, **params: Any) -> list[Operation]:
    few = [dtype for dtype in dtypes if dtype in (dtypes[0], np.float64)]
    return [
        Operation(
            label,
            (Operand((2, 3), domain),),
            {"axes": axes, **params},
            dtypes=dtypes if label == "columns" else few,
        )
        for label, axes in _reduced_axes.items()
    ] + [Operation("empty", (Operand((0, 3), domain),), {"axes": (0,), **params}, dtypes[:1])]


sample(lax.reduce_sum_p, *_reductions((-2, 2), NUMBERS, out_sharding=None))
sample(lax.reduce_prod_p, *_reductions((0.5, 1.5), NUMBERS))
sample(lax.reduce_max_p, *_reductions((-2, 2), FLOATS + INTEGERS + BOOLS))
sample(lax.reduce_min_p, *_reductions((-2, 2), FLOATS + INTEGERS + BOOLS))
for _primitive in (lax.reduce_and_p, lax.reduce_or_p, lax.reduce_xor_p):
    sample(_primitive, *_reductions((-100, 100), INTEGERS + BOOLS))
for _primitive in (lax.argmax_p, lax.argmin_p):
    sample(
        _primitive,
        *(
            Operation(
                label,
                (Operand((3, 4)),),
                {"axes": (axis,), "index_dtype": np.dtype(np.int32)},
                dtypes=FLOATS + INTEGERS + BOOLS,
                differentiable=False,
            )
            for label, axis in (("rows", 0), ("columns", 1))
        ),
        Operation(
            "nan",
            (np.array([[1.0, np.nan, 3.0, np.nan], [2.0, 0.0, 2.0, 0.0]], np.float32),),
            {"axes": (1,), "index_dtype": np.dtype(np.uint8)},
            dtypes=(np.float32,),
            differentiable=False,
        ),
    )


def _program(computation: Any, *dtypes: Any) -> ClosedOlympuspr:
    avals = [ShapedArray((), dtype) for dtype in dtypes]
    return ClosedOlympuspr(*trace_to_olympuspr(computation, [*avals, *avals]))


def _larger_absolute(x: Any, y: Any) -> list[Any]:
    return [lax.select(lax.gt(lax.abs(x), lax.abs(y)), x, y)]


def _sum_and_product(sum_x: Any, product_x: Any, sum_y: Any, product_y: Any) -> list[Any]:
    return [lax.add(sum_x, sum_y), lax.mul(product_x, product_y)]


sample(
    lax.reduce_p,
    Operation(
        "one",
        (Operand((2, 3)), np.float32(0)),
        {
            "computation": _larger_absolute,
            "jaxpr": _program(_larger_absolute, np.float32),
            "dimensions": (1,),
        },
        dtypes=(np.float32,),
        batchable=(0,),
        differentiable=False,
    ),
    Operation(
        "two",
        (Operand((2, 3)), Operand((2, 3)), np.float32(0), np.float32(1)),
        {
            "computation": _sum_and_product,
            "jaxpr": _program(_sum_and_product, np.float32, np.float32),
            "dimensions": (0,),
        },
        dtypes=(np.float32,),
        batchable=(0, 1),
        differentiable=False,
    ),
)


def _cumulative(domain: tuple, dtypes: tuple) -> list[Operation]:
    return [
        Operation(
            f"axis_{axis}{'_reverse' if reverse else ''}",
            (Operand((3, 4), domain),),
            {"axis": axis, "reverse": reverse},
            dtypes=dtypes if axis == 0 else dtypes[:2],
        )
        for axis in (0, 1)
        for reverse in (False, True)
    ]


sample(lax.cumsum_p, *_cumulative((-2, 2), NUMBERS))
sample(lax.cumprod_p, *_cumulative((0.5, 1.5), NUMBERS))
sample(lax.cummax_p, *_cumulative((-2, 2), FLOATS + INTEGERS))
sample(lax.cummin_p, *_cumulative((-2, 2), FLOATS + INTEGERS))
sample(lax.cumlogsumexp_p, *_cumulative((-2, 2), FLOATS))
