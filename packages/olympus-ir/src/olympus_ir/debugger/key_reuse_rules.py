# SPDX-License-Identifier: Apache-2.0
"""Rules of `key_rules` for operations that move, copy or overwrite random keys.

Marks of slices and of broadcast keys are views of the operand's marks, so keys that are consumed
through a view are consumed in the operand, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import lax
from ..programs.key_rules import KeyOperation, Marks, consume_operands, key_rules, pass_operand
from ..programs.olympuspr import Literal

# Operations that move keys. They consume their operands.
for _primitive in (
    lax.concatenate_p,
    lax.optimization_barrier_p,
    lax.rev_p,
    lax.select_n_p,
    lax.transpose_p,
):
    key_rules.define(_primitive, consume_operands)

# Operations whose result consists of the keys of their operand.
for _primitive in (lax.copy_p, lax.device_put_p, lax.reshape_p, lax.squeeze_p):
    key_rules.define(_primitive, pass_operand)


@key_rules.define(lax.broadcast_in_dim_p)
def _broadcast(operation: KeyOperation) -> Marks:
    marks, equation = operation.operands[0], operation.equation
    if marks is None:
        return None
    shape = equation.outvars[0].aval.shape
    strides = [0] * len(shape)
    for size, stride, dimension in zip(
        marks.shape, marks.strides, equation.params["broadcast_dimensions"], strict=True
    ):
        strides[dimension] = stride if size == shape[dimension] else 0
    return _view(marks, shape, strides)


@key_rules.define(lax.gather_p)
def _gather(operation: KeyOperation) -> Marks:
    """Returns the marks of gathered keys, if the array has a single key.

    The positions are traced, but each can only be that of the single key.
    """
    marks, shape = operation.operands[0], operation.equation.outvars[0].aval.shape
    if marks is None or marks.size != 1:
        return None
    return _view(marks, shape, (0,) * len(shape))


@key_rules.define(lax.slice_p)
def _slice(operation: KeyOperation) -> Marks:
    marks, params = operation.operands[0], operation.equation.params
    if marks is None:
        return None
    strides = params["strides"] or (1,) * len(params["start_indices"])
    limits = zip(params["start_indices"], params["limit_indices"], strides, strict=True)
    return marks[tuple(slice(*limit) for limit in limits)]


@key_rules.define(lax.dynamic_slice_p)
def _dynamic_slice(operation: KeyOperation) -> Marks:
    """Returns the marks of a slice if its position is known, clamped as in the operation."""
    marks, equation = operation.operands[0], operation.equation
    starts: list[Any] = [
        int(atom.val) if isinstance(atom, Literal) else operation.indices.get(atom)
        for atom in equation.invars[1:]
    ]
    if marks is None or None in starts:
        return None
    parts = []
    for start, size, length in zip(
        starts, equation.params["slice_sizes"], marks.shape, strict=True
    ):
        first = min(max(start, 0), length - size)
        parts.append(slice(first, first + size))
    return marks[tuple(parts)]


@key_rules.define(lax.scatter_p)
def _scatter(operation: KeyOperation) -> Marks:
    return _overwritten(operation, operation.operands[2])


@key_rules.define(lax.dynamic_update_slice_p)
def _dynamic_update_slice(operation: KeyOperation) -> Marks:
    return _overwritten(operation, operation.operands[1])


def _overwritten(operation: KeyOperation, new_keys: Marks) -> Marks:
    """Returns the marks of an array in which keys at traced positions are replaced.

    The check follows the new keys only if the array has a single key.
    """
    shape = operation.equation.outvars[0].aval.shape
    if new_keys is None or not new_keys.size == math.prod(shape) == 1:
        return None
    return new_keys.reshape(shape)


def _view(marks: np.ndarray, shape: tuple, strides: Sequence[int]) -> np.ndarray:
    return np.lib.stride_tricks.as_strided(marks, shape, strides)
