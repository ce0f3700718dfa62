# SPDX-License-Identifier: Apache-2.0
"""Samples of choices and loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax

from .declarations import Operand, Operation, sample
from .recording import recorded_params

_vector = Operand((3,), (0.5, 2.0))
_scalar = Operand((), (0.5, 2.0))


# ---- cond ----


def _choice(index: Any, x: Any, y: Any) -> list[Any]:
    branches = [
        lambda x, y: (lax.mul(x, x), y),
        lambda x, y: (lax.mul(x, y), lax.sin(x)),
        lambda x, y: (y, y),
    ]
    return lax.switch(index, branches, x, y)


_choice_params = recorded_params(lax.cond_p, _choice, Operand((), dtype=np.int32), _vector, _vector)

sample(
    lax.cond_p,
    *(
        Operation(
            label,
            (np.int32(index), _vector, _vector),
            _choice_params,
            differentiable=(1, 2),
            batchable=(1, 2),
        )
        for label, index in (("first", 0), ("second", 1), ("last", 2))
    ),
    Operation(
        "drawn",
        (Operand((), (0, 2), np.int32), _vector, _vector),
        _choice_params,
        differentiable=(1, 2),
    ),
)


# ---- while ----


def _scale_until(limit: Any, factor: Any, start: Any) -> list[Any]:
    """Multiplies by a factor as long as a counter is below a limit."""

    def continues(carry: Any) -> Any:
        return lax.lt(carry[0], limit)

    def body(carry: Any) -> tuple[Any, Any]:
        return lax.add(carry[0], np.int32(1)), lax.mul(carry[1], factor)

    return lax.while_loop(continues, body, (np.int32(0), start))


_while_params = recorded_params(
    lax.while_p, _scale_until, Operand((), dtype=np.int32), _vector, _vector
)


def _while(label: str, limit: Any, **options: Any) -> Operation:
    # Derivatives in reverse would need all carries, and their number is not known beforehand.
    operands = (limit, _vector, np.int32(0), _vector)
    return Operation(
        label, operands, _while_params, differentiable=(1, 3), modes=("forward",), **options
    )


sample(
    lax.while_p,
    _while("three_times", np.int32(3), batchable=(1, 3)),
    _while("never", np.int32(0), batchable=(1, 3)),
    _while("drawn", Operand((), (0, 4), np.int32), batchable=(0, 1, 3)),
)


# ---- scan ----


def _scan(label: str, length: int = 4, **options: Any) -> Operation:
    slices = Operand((length, 3), (0.5, 2.0))

    def accumulate(factor: Any, start: Any, xs: Any) -> tuple[Any, Any]:
        def body(carry: Any, x: Any) -> tuple[Any, Any]:
            total = lax.add(lax.mul(carry, factor), lax.sin(x))
            return total, lax.mul(total, x)

        return lax.scan(body, start, xs, **options)

    return Operation(
        label,
        (_scalar, _vector, slices),
        recorded_params(lax.scan_p, accumulate, _scalar, _vector, slices),
    )


sample(
    lax.scan_p,
    _scan("forward"),
    _scan("reverse", reverse=True),
    _scan("unrolled", unroll=2),
    _scan("once", length=1),
    _scan("never", length=0),
)
