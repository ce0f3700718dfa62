# SPDX-License-Identifier: Apache-2.0
"""Types for the annotations of functions that kernels call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np

from olympus_ir.references.values import RefMethods
from olympus_ir.types.annotations import AxisName
from olympus_ir.types.arrays import Array

__all__ = ["DeviceId", "IntLike", "RefLike", "ScratchShape"]

# References to memory: references to arrays, semaphores and barriers, the tracers that stand for
# them in kernels, and views of them.
RefLike: TypeAlias = RefMethods

# Integers, known or traced.
IntLike: TypeAlias = int | np.integer | Array

# Names of a device: its logical number, its indices along all axes of the mesh, or its indices
# along the axes that differ from those of this device.
DeviceId: TypeAlias = IntLike | tuple[IntLike, ...] | Mapping[AxisName, IntLike]


class ScratchShape(Protocol):
    """Protocol of descriptions of buffers, semaphores and barriers that a kernel allocates."""

    def get_ref_aval(self) -> Any:
        """Returns the type of the reference that the kernel takes."""
        ...
