# SPDX-License-Identifier: Apache-2.0
"""Reference rule of olympus-random's generator, whose expansion has a hundred equations."""

from __future__ import annotations

import numpy as np

from ..programs.primitives import instruction
from .tables import reference_rules
from .threefry import threefry2x32


@reference_rules.define(instruction("threefry2x32"))
def _threefry2x32(
    key1: np.ndarray, key2: np.ndarray, count1: np.ndarray, count2: np.ndarray
) -> list[np.ndarray]:
    shape = np.broadcast_shapes(key1.shape, key2.shape, count1.shape, count2.shape)
    words = threefry2x32((key1, key2), (count1, count2))
    return [np.broadcast_to(word, shape) for word in words]
