# SPDX-License-Identifier: Apache-2.0
"""Rates that a device reaches: operations a second, and bytes a second, both measured."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from olympus_ir import lax
from olympus_xla import jit
from olympus_xla.arrays.transfer import block_until_ready, device_put

__all__ = ["Rates", "rates_of"]

_SIDE, _BYTES, _ROUNDS = 768, 1 << 22, 6


class Rates(NamedTuple):
    """The rates of a device.

    Attributes:
      flops: operations a second, of a product of matrices of float32.
      bytes: bytes a second that an elementwise operation reads and writes.
    """

    flops: float
    bytes: float


@functools.cache
def rates_of(device: Any) -> Rates:
    """Measures the rates of a device; the result is kept.

    The rates are those of a large product of matrices and of a large sum, not the figures of the
    maker.

    Args:
      device: the device.
    """
    matrix = device_put(np.ones((_SIDE, _SIDE), np.float32), device)
    vector = device_put(np.ones(_BYTES // 4, np.float32), device)
    product = _shortest(jit(lambda x: lax.dot(x, x)), matrix)
    moved = _shortest(jit(lambda x: lax.add(x, x)), vector)
    return Rates(2 * _SIDE**3 / product, 2 * _BYTES / moved)


def _shortest(fun: Callable[[Any], Any], operand: Any) -> float:
    block_until_ready(fun(operand))
    times = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        block_until_ready(fun(operand))
        times.append(time.perf_counter() - start)
    return min(times)
