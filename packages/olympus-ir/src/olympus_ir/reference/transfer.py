# SPDX-License-Identifier: Apache-2.0
"""Reference rule of placement: the identity, because the evaluator has no devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..lax import transfer
from ..types.memory_spaces import MemorySpace
from .tables import reference_rules


@reference_rules.define(transfer.device_put_p)
def _device_put(*operands: np.ndarray, devices: Sequence[Any], **params: Any) -> list[np.ndarray]:
    for device in devices:
        # host memory is the only memory
        if device is not None and not isinstance(device, MemorySpace):
            raise ValueError(
                f"the NumPy evaluator has no devices, and cannot put a value on {device}. "
                "Install and import olympus_xla for arrays on devices."
            )
    return list(operands)
