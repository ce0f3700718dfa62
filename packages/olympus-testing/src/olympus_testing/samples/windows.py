# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of reductions, selections and scatters over windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax, trace_to_olympuspr
from olympus_ir.lax.windows import reductions
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.types.avals import ShapedArray

from .declarations import FLOATS, INTEGERS, NUMBERS, Operand, Operation, sample

_FEW = (np.float32, np.float64)

# Maps a label to the shape of the operand, and the window's dimensions, strides, padding, base
# dilation and window dilation.
_geometries: dict[str, tuple] = {
    "plain": ((5,), (2,), (1,), ((0, 0),), (1,), (1,)),
    "matrix": ((4, 5), (2, 3), (1, 2), ((1, 0), (0, 2)), (1, 1), (1, 1)),
    "cropped": ((3, 6), (1, 2), (1, 1), ((0, 0), (-1, -2)), (1, 1), (1, 1)),
    "dilated_base": ((4,), (3,), (2,), ((1, 2),), (2,), (1,)),
    "dilated_window": ((7,), (2,), (1,), ((1, 1),), (1,), (3,)),
    "beyond": ((2,), (2,), (2,), ((5, 4),), (1,), (1,)),
    "no_windows": ((2, 3), (3, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)),
    "empty": ((0, 3), (2, 2), (1, 1), ((2, 1), (0, 0)), (1, 1), (1, 1)),
    "scalar": ((), (), (), (), (), ()),
}
_NAMES = ("window_dimensions", "window_strides", "padding", "base_dilation", "window_dilation")


def _window(label: str, dilations: bool = True) -> tuple[tuple, dict[str, Any]]:
    shape, *values = _geometries[label]
    names = _NAMES if dilations else _NAMES[:3]
    return shape, dict(zip(names, values, strict=False))


def _reductions(dtypes: tuple, without_elements: tuple = ()) -> list[Operation]:
    """Returns one operation for each geometry.

    Args:
      dtypes: the dtypes of the first geometry.
      without_elements: the labels of geometries that have windows of padding only. The extrema of
        such windows are infinite.
    """
    found = []
    for label in _geometries:
        shape, window = _window(label)
        several = dtypes if label == "plain" else _FEW
        smooth = label not in without_elements
        found.append(Operation(label, (Operand(shape),), window, several, differentiable=smooth))
    return found


sample(reductions.reduce_window_sum_p, *_reductions(NUMBERS))
sample(reductions.reduce_window_max_p, *_reductions(FLOATS + INTEGERS, ("beyond", "empty")))
sample(reductions.reduce_window_min_p, *_reductions(FLOATS + INTEGERS, ("beyond", "empty")))


def _program(computation: Any, *dtypes: Any) -> ClosedOlympuspr:
    avals = [ShapedArray((), dtype) for dtype in dtypes]
    return ClosedOlympuspr(*trace_to_olympuspr(computation, avals))


def _product(x: Any, y: Any) -> list[Any]:
    return [lax.mul(x, y)]


def _product_and_largest(x: Any, large_x: Any, y: Any, large_y: Any) -> list[Any]:
    return [lax.mul(x, y), lax.max(large_x, large_y)]


def _by_product(label: str) -> Operation:
    shape, window = _window(label)
    return Operation(
        f"product_{label}",
        (Operand(shape, (0.5, 1.5)), lambda generator, dtype: np.ones((), dtype)),
        lambda dtype: {"jaxpr": _program(_product, dtype, dtype), "consts": (), **window},
        differentiable=(0,),
    )


def _by_pairs(label: str) -> Operation:
    shape, window = _window(label)

    def params(dtype: Any) -> dict[str, Any]:
        program = _program(_product_and_largest, dtype, np.int32, dtype, np.int32)
        return {"jaxpr": program, "consts": (), **window}

    return Operation(
        f"pair_{label}",
        (
            Operand(shape, (0.5, 1.5)),
            Operand(shape, (-9, 9), np.int32),
            lambda generator, dtype: np.ones((), dtype),
            np.int32(-10),
        ),
        params,
        differentiable=(0,),
    )


sample(
    reductions.reduce_window_p,
    *(_by_product(label) for label in ("matrix", "dilated_base", "dilated_window", "no_windows")),
    *(_by_pairs(label) for label in ("plain", "matrix")),
)


def _gathering(label: str, select_prim: Any) -> Operation:
    shape, window = _window(label)
    return Operation(
        f"{select_prim.name}_{label}",
        (Operand(shape), Operand(shape)),
        {"select_prim": select_prim, **window},
        FLOATS if label == "plain" else _FEW,
        differentiable=(0,),
    )


sample(
    reductions.select_and_gather_add_p,
    *(_gathering(label, lax.ge_p) for label in _geometries),
    *(_gathering(label, lax.le_p) for label in ("plain", "matrix")),
)

_scattered = ("plain", "matrix", "cropped", "beyond", "no_windows", "empty", "scalar")


def _scattering(label: str, select_prim: Any) -> Operation:
    shape, window = _window(label, dilations=False)
    source = lax.reduce_window_shape_tuple(shape, *window.values())
    return Operation(
        f"{select_prim.name}_{label}",
        (Operand(source), Operand(shape)),
        {"select_prim": select_prim, **window},
        FLOATS if label == "plain" else _FEW,
        differentiable=(0,),
    )


sample(
    reductions.select_and_scatter_add_p,
    *(_scattering(label, lax.ge_p) for label in _scattered),
    *(_scattering(label, lax.le_p) for label in ("plain", "matrix")),
)


def _larger(x: Any, y: Any) -> list[Any]:
    return [lax.gt(x, y)]


def _combining(label: str, combine: Any) -> Operation:
    shape, window = _window(label, dilations=False)
    source = lax.reduce_window_shape_tuple(shape, *window.values())
    return Operation(
        f"{combine.__name__.strip('_')}_{label}",
        (
            Operand(shape),
            Operand(source, (0.5, 1.5)),
            lambda generator, dtype: np.ones((), dtype),
        ),
        lambda dtype: {
            "select_jaxpr": _program(_larger, dtype, dtype),
            "select_consts": (),
            "scatter_jaxpr": _program(combine, dtype, dtype),
            "scatter_consts": (),
            **window,
        },
        (np.float32, np.float64, np.int32) if label == "plain" else _FEW,
        differentiable=(1,),
    )


sample(
    reductions.select_and_scatter_p,
    *(_combining(label, _product) for label in ("plain", "matrix", "beyond", "scalar")),
)
