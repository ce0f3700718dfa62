# SPDX-License-Identifier: Apache-2.0
"""Measured rates of a device: operations per second, and bytes per second."""

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
      flops: the operations per second of a matrix product in float32.
      bytes: the bytes per second that an elementwise operation reads and writes.
    """

    flops: float
    bytes: float


@functools.cache
def rates_of(device: Any) -> Rates:
    """Measures the rates of a device, and caches the result.

    A large matrix product and a large elementwise sum are timed. The manufacturer's figures are
    not used.

    Args:
      device: the device.

    Returns:
      The `Rates` of the device.
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
