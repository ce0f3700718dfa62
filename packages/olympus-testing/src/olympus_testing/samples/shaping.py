# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of primitives that rearrange or repeat elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax

from .declarations import BOOLS, NUMBERS, Operand, Operation, sample

_anything = NUMBERS + BOOLS


def _broadcast(
    label: str, shape: tuple, new_shape: tuple, dimensions: tuple, **options: Any
) -> Operation:
    params = {"shape": new_shape, "broadcast_dimensions": dimensions, "sharding": None}
    return Operation(label, (Operand(shape),), params, **options)


sample(
    lax.broadcast_in_dim_p,
    _broadcast("scalar", (), (2, 3), (), dtypes=_anything),
    _broadcast("leading", (3,), (2, 3), (1,)),
    _broadcast("trailing", (2,), (2, 3), (0,)),
    _broadcast("sizes_of_one", (1, 3, 1), (4, 2, 3, 5), (0, 2, 3)),
    _broadcast("empty", (1,), (0, 2), (1,)),
)


def _reshape(
    label: str, shape: tuple, new_sizes: tuple, dimensions: tuple | None = None, **options: Any
):
    params = {"new_sizes": new_sizes, "dimensions": dimensions, "sharding": None}
    return Operation(label, (Operand(shape),), params, **options)


sample(
    lax.reshape_p,
    _reshape("split", (6,), (2, 3), dtypes=_anything),
    _reshape("join", (2, 3, 4), (6, 4)),
    _reshape("to_scalar", (1, 1), ()),
    _reshape("from_scalar", (), (1, 1)),
    _reshape("permuted", (2, 3), (3, 2), (1, 0)),
    _reshape("empty", (0, 3), (3, 0, 2)),
)
sample(
    lax.squeeze_p,
    Operation("one", (Operand((1, 3)),), {"dimensions": (0,)}, dtypes=_anything),
    Operation("two", (Operand((1, 3, 1)),), {"dimensions": (0, 2)}),
    Operation("all", (Operand((1, 1)),), {"dimensions": (0, 1)}),
)
sample(
    lax.transpose_p,
    Operation("matrix", (Operand((2, 3)),), {"permutation": (1, 0)}, dtypes=_anything),
    Operation("three", (Operand((2, 3, 4)),), {"permutation": (2, 0, 1)}),
    Operation("scalar", (Operand(()),), {"permutation": ()}),
)
sample(
    lax.rev_p,
    Operation("one", (Operand((2, 3)),), {"dimensions": (1,)}, dtypes=_anything),
    Operation("two", (Operand((2, 3, 4)),), {"dimensions": (0, 2)}),
    Operation("none", (Operand((2,)),), {"dimensions": ()}),
)
sample(
    lax.concatenate_p,
    Operation("rows", (Operand((2, 3)), Operand((1, 3))), {"dimension": 0}, dtypes=_anything),
    Operation("columns", (Operand((2, 3)), Operand((2, 0)), Operand((2, 1))), {"dimension": 1}),
    Operation("one", (Operand((2, 3)),), {"dimension": 1}),
)
sample(
    lax.stack_p,
    Operation("first", (Operand((2, 3)), Operand((2, 3))), {"axis": 0}, dtypes=_anything),
    Operation("last", (Operand((2, 3)),) * 3, {"axis": 2}),
    Operation("scalars", (Operand(()), Operand(())), {"axis": 0}),
)
sample(
    lax.unstack_p,
    Operation("rows", (Operand((2, 3)),), {"axis": 0}, dtypes=_anything),
    Operation("columns", (Operand((2, 3)),), {"axis": 1}),
)
sample(
    lax.split_p,
    Operation("rows", (Operand((3, 2)),), {"sizes": (1, 2), "axis": 0}, dtypes=_anything),
    Operation("columns", (Operand((2, 4)),), {"sizes": (1, 0, 3), "axis": 1}),
)
sample(
    lax.tile_p,
    Operation("matrix", (Operand((2, 3)),), {"reps": (2, 1)}, dtypes=_anything),
    Operation("both", (Operand((2, 3)),), {"reps": (3, 2)}),
)
sample(
    lax.pad_p,
    Operation(
        "around",
        (Operand((2, 3)), Operand(())),
        {"padding_config": ((1, 2, 0), (0, 1, 0))},
        dtypes=_anything,
    ),
    Operation(
        "interior", (Operand((2, 3)), Operand(())), {"padding_config": ((0, 0, 1), (1, 1, 2))}
    ),
    Operation(
        "negative", (Operand((4, 5)), Operand(())), {"padding_config": ((-1, 0, 0), (-1, -2, 0))}
    ),
    Operation(
        "mixed", (Operand((4, 3)), Operand(())), {"padding_config": ((-2, 1, 1), (2, -3, 2))}
    ),
    Operation("empty", (Operand((0,)), Operand(())), {"padding_config": ((1, 1, 2),)}),
)
sample(lax.dim_as_value_p, Operation("number", (), {"dim": 3}))
sample(
    lax.iota_p,
    *(
        Operation(
            label,
            (),
            lambda dtype, shape=shape, dimension=dimension: {
                "dtype": dtype,
                "shape": shape,
                "dimension": dimension,
                "sharding": None,
            },
            dtypes=(np.int32, np.float32, np.uint8, np.complex64),
        )
        for label, shape, dimension in (
            ("vector", (4,), 0),
            ("columns", (2, 3), 1),
            ("empty", (0, 2), 0),
        )
    ),
)
