# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of slices, dynamic slices, gathers and scatters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir import lax, trace_to_olympuspr
from olympus_ir.programs.olympuspr import Olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.types.avals import ShapedArray

from .declarations import BOOLS, FLOATS, NUMBERS, Operand, Operation, sample

_anything = NUMBERS + BOOLS


def _slice(label: str, starts: tuple, limits: tuple, strides: tuple | None, **options: Any):
    params = {"start_indices": starts, "limit_indices": limits, "strides": strides}
    return Operation(label, (Operand((4, 5)),), params, **options)


sample(
    lax.slice_p,
    _slice("rows", (1, 0), (3, 5), None, dtypes=_anything),
    _slice("strides", (0, 1), (4, 5), (2, 3)),
    _slice("empty", (2, 1), (2, 4), (1, 1)),
    _slice("all", (0, 0), (4, 5), None),
)


def _index(low: int, high: int, dtype: Any = np.int32) -> Operand:
    return Operand((), (low, high), dtype)


sample(
    lax.dynamic_slice_p,
    Operation(
        "inside",
        (Operand((4, 5)), _index(0, 2), _index(0, 2)),
        {"slice_sizes": (2, 3)},
        dtypes=_anything,
        differentiable=(0,),
    ),
    Operation(
        "moved",
        (Operand((4, 5)), _index(-3, 9), _index(-3, 9)),
        {"slice_sizes": (2, 3)},
        differentiable=(0,),
    ),
    Operation(
        "unsigned_index",
        (Operand((4,)), _index(0, 3, np.uint8)),
        {"slice_sizes": (1,)},
        differentiable=(0,),
    ),
)
sample(
    lax.dynamic_update_slice_p,
    Operation(
        "inside",
        (Operand((4, 5)), Operand((2, 3)), _index(0, 2), _index(0, 2)),
        dtypes=_anything,
        differentiable=(0, 1),
    ),
    Operation(
        "moved",
        (Operand((4, 5)), Operand((2, 3)), _index(-3, 9), _index(-3, 9)),
        differentiable=(0, 1),
    ),
)

# ---- gather and scatter ----

# Ways to index an operand of shape (4, 5) or (3, 4, 5). Each entry has the operand's shape, the
# shape of the indices, the dimension numbers of gather, and the windows' sizes.
_GATHERS: dict[str, tuple] = {
    "elements": ((4, 5), (3, 2), lax.GatherDimensionNumbers((), (0, 1), (0, 1)), (1, 1)),
    "rows": ((4, 5), (3, 1), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 5)),
    "columns": ((4, 5), (3, 1), lax.GatherDimensionNumbers((0,), (1,), (1,)), (4, 1)),
    "windows": ((4, 5), (3, 2), lax.GatherDimensionNumbers((1, 2), (), (0, 1)), (2, 3)),
    "swapped": ((4, 5), (2, 3, 2), lax.GatherDimensionNumbers((0,), (0,), (1, 0)), (1, 2)),
    "one": ((4, 5), (1,), lax.GatherDimensionNumbers((0,), (0,), (0,)), (1, 5)),
    "batched": (
        (3, 4, 5),
        (3, 2, 1),
        lax.GatherDimensionNumbers((2,), (1,), (1,), (0,), (0,)),
        (1, 1, 5),
    ),
}
_Mode = lax.GatherScatterMode


def _gather(label: str, mode: Any, low: int, high: int, fill_value: Any = None, **options: Any):
    shape, indices_shape, numbers, slice_sizes = _GATHERS[label]
    params = {
        "dimension_numbers": numbers,
        "slice_sizes": slice_sizes,
        "unique_indices": False,
        "indices_are_sorted": False,
        "mode": mode,
        "fill_value": fill_value,
    }
    return Operation(
        f"{label}_{mode.name.lower()}",
        (Operand(shape), Operand(indices_shape, (low, high), np.int32)),
        params,
        differentiable=(0,),
        **options,
    )


sample(
    lax.gather_p,
    _gather("rows", _Mode.PROMISE_IN_BOUNDS, 0, 3, dtypes=_anything),
    *(
        _gather(label, _Mode.PROMISE_IN_BOUNDS, 0, 2)
        for label in ("elements", "columns", "windows", "swapped", "one", "batched")
    ),
    *(_gather(label, _Mode.CLIP, -2, 6) for label in ("rows", "windows", "batched")),
    *(
        _gather(label, _Mode.FILL_OR_DROP, -2, 6, 7.5)
        for label in ("elements", "rows", "windows", "batched")
    ),
)


def _updates_shape(label: str) -> tuple[int, ...]:
    """Returns the shape of the result of gather, which the updates of scatter have, too."""
    _, indices_shape, numbers, slice_sizes = _GATHERS[label]
    window = [
        size
        for axis, size in enumerate(slice_sizes)
        if axis not in (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    ]
    batch = list(indices_shape[:-1])
    ndim = len(window) + len(batch)
    return tuple((window if axis in numbers.offset_dims else batch).pop(0) for axis in range(ndim))


def _distinct_indices(label: str) -> Callable[[np.random.Generator, Any], np.ndarray]:
    """Returns a function that draws index vectors whose windows do not overlap.

    The windows must not overlap because the order of updates is unspecified.
    """

    def draw(generator: np.random.Generator, dtype: Any) -> np.ndarray:
        _, indices_shape, _, _ = _GATHERS[label]
        components = [
            generator.permuted(np.broadcast_to(np.arange(4), (*indices_shape[:-2], 4)), axis=-1)
            for _ in range(indices_shape[-1])
        ]
        if len(indices_shape) == 1:
            return np.stack([component[..., 0] for component in components], -1).astype(np.int32)
        count = indices_shape[-2]
        return np.stack([component[..., :count] for component in components], -1).astype(np.int32)

    return draw


def _program(computation: Callable[..., Any], aval: ShapedArray) -> Olympuspr:
    program, _ = trace_to_olympuspr(lambda x, y: [computation(x, y)], [aval, aval])
    return program


def _scatter(
    label: str,
    mode: Any,
    indices: Any,
    computation: Callable[..., Any] | None,
    **options: Any,
) -> Operation:
    shape, _, numbers, _ = _GATHERS[label]

    def params(dtype: Any) -> dict[str, Any]:
        program = None
        if computation is not None:
            aval = ShapedArray((), dtype)
            program = _program(computation, aval)
        return {
            "update_jaxpr": program,
            "update_consts": (),
            "dimension_numbers": lax.ScatterDimensionNumbers(*numbers),
            "indices_are_sorted": False,
            "unique_indices": False,
            "mode": mode,
        }

    if isinstance(indices, tuple):
        indices = Operand(_GATHERS[label][1], indices, np.int32)
    return Operation(
        f"{label}_{mode.name.lower()}",
        (Operand(shape), indices, Operand(_updates_shape(label))),
        params,
        **{"differentiable": (0, 2), **options},
    )


sample(
    lax.scatter_p,
    _scatter("rows", _Mode.FILL_OR_DROP, _distinct_indices("rows"), None, dtypes=_anything),
    *(
        _scatter(label, _Mode.FILL_OR_DROP, _distinct_indices(label), None)
        for label in ("elements", "columns", "one", "batched")
    ),
    _scatter("rows", _Mode.CLIP, _distinct_indices("rows"), None),
    _scatter("rows", _Mode.PROMISE_IN_BOUNDS, _distinct_indices("rows"), None),
    # A scatter like that of `scatter_apply`, which ignores the updates.
    _scatter(
        "elements",
        _Mode.CLIP,
        _distinct_indices("elements"),
        lambda x, _: lax.neg(x),
        differentiable=(),
    ),
)


def _sample_accumulating_scatter(
    primitive: Primitive, computation: Callable[..., Any], dtypes: tuple, **options: Any
) -> None:
    sample(
        primitive,
        _scatter("rows", _Mode.FILL_OR_DROP, (0, 3), computation, dtypes=dtypes, **options),
        *(
            _scatter(label, _Mode.FILL_OR_DROP, (-2, 6), computation, **options)
            for label in ("elements", "windows", "swapped", "batched")
        ),
        _scatter("windows", _Mode.CLIP, (-2, 6), computation, **options),
        _scatter("rows", _Mode.PROMISE_IN_BOUNDS, (0, 3), computation, **options),
    )


_sample_accumulating_scatter(lax.scatter_add_p, lax.add, NUMBERS)
_sample_accumulating_scatter(lax.scatter_sub_p, lax.sub, NUMBERS)
_sample_accumulating_scatter(lax.scatter_min_p, lax.min, FLOATS)
_sample_accumulating_scatter(lax.scatter_max_p, lax.max, FLOATS)
# Derivatives with respect to updates exist if windows do not overlap.
_sample_accumulating_scatter(lax.scatter_mul_p, lax.mul, NUMBERS, differentiable=(0,))
