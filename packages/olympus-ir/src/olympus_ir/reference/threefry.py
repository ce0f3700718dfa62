# SPDX-License-Identifier: Apache-2.0
"""The Threefry-2x32 block cipher, on NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["threefry2x32"]

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


def threefry2x32(
    key: tuple[Any, Any], words: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Encrypts pairs of 32-bit words by twenty rounds of Threefry.

    Args:
      key: the two words of the key; scalars, or arrays with a key for each pair.
      words: the first words of the pairs, and the second words of the pairs.
    """
    keys = [*key, key[0] ^ key[1] ^ _PARITY]
    x, y = words
    with np.errstate(over="ignore"):
        x, y = x + keys[0], y + keys[1]
        for step in range(5):
            for rotation in _ROTATIONS[step % 2]:
                x = x + y
                y = (y << np.uint32(rotation) | y >> np.uint32(32 - rotation)) ^ x
            x = x + keys[(step + 1) % 3]
            y = y + keys[(step + 2) % 3] + np.uint32(step + 1)
    return x, y
