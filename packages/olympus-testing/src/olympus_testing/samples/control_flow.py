# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of conditionals, loops and linear solves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.control_flow.linear_solves import LinearSolveParts
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.settings import config
from olympus_ir.types.avals import ShapedArray

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


sample(
    lax.platform_index_p,
    Operation("cpu_first", (), {"platforms": (("cpu",), ("cuda",), None)}, dtypes=(np.int32,)),
    Operation("default", (), {"platforms": (("rocm",), None)}, dtypes=(np.int32,)),
)


# ---- while ----


def _scale_until(limit: Any, factor: Any, start: Any) -> tuple[Any, Any]:
    """Multiplies by a factor while a counter is below a limit."""

    def continues(carry: Any) -> Any:
        return lax.lt(carry[0], limit)

    def body(carry: Any) -> tuple[Any, Any]:
        return lax.add(carry[0], np.int32(1)), lax.mul(carry[1], factor)

    return lax.while_loop(continues, body, (np.int32(0), start))


_while_params = recorded_params(
    lax.while_p, _scale_until, Operand((), dtype=np.int32), _vector, _vector
)


def _while(label: str, limit: Any, **options: Any) -> Operation:
    # Reverse mode would need the carries of all steps, and the number of steps is unknown.
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


# ---- linear solves ----


def _linear_solve_params(with_transpose: bool) -> Callable[[Any], dict[str, Any]]:
    """Returns the parameters of a diagonal solve; the diagonal is a constant of each program."""

    def params(dtype: Any) -> dict[str, Any]:
        avals = [ShapedArray(_vector.shape, dtype)] * 2
        with config.enable_x64(True):
            product = trace_to_closed(lambda diagonal, x: [lax.mul(diagonal, x)], avals)
            quotient = trace_to_closed(lambda diagonal, b: [lax.div(b, diagonal)], avals)
        if with_transpose:
            return {
                "const_lengths": LinearSolveParts(1, 1, 1, 1),
                "jaxprs": LinearSolveParts(product, product, quotient, quotient),
            }
        return {
            "const_lengths": LinearSolveParts(1, 0, 1, 0),
            "jaxprs": LinearSolveParts(product, None, quotient, None),
        }

    return params


def _diagonal(generator: Any, dtype: Any) -> Any:
    # All programs have the same diagonal, because derivatives assume consistent programs.
    return np.array([0.5, 1.5, -2.0]).astype(dtype)


sample(
    lax.linear_solve_p,
    # Derivatives with respect to the diagonals would need a derivative of the solver, which does
    # not exist.
    Operation(
        "transposable",
        (*[_diagonal] * 4, _vector),
        _linear_solve_params(True),
        differentiable=(4,),
    ),
    Operation(
        "without_transpose",
        (*[_diagonal] * 2, _vector),
        _linear_solve_params(False),
        differentiable=(2,),
        modes=("forward",),
    ),
)
