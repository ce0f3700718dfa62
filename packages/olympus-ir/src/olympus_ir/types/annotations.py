# SPDX-License-Identifier: Apache-2.0
"""Types for the annotations of operands, dtypes, shapes and pytrees."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from ..trees.structures import PyTree
from .placement import Device, PartitionSpec, Sharding

if TYPE_CHECKING:
    from .array_interface import Array
else:
    from .._jaxlib import Array

__all__ = [
    "ArrayLike",
    "AxisName",
    "DTypeLike",
    "DeviceLike",
    "PyTree",
    "Shape",
    "ShardingLike",
    "SupportsDType",
]


class SupportsDType(Protocol):
    """Protocol of objects with a dtype."""

    @property
    def dtype(self) -> np.dtype: ...


# Values that convert to arrays without loss: arrays, NumPy arrays and scalars, Python numbers.
ArrayLike: TypeAlias = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex

# Values that name a dtype.
DTypeLike: TypeAlias = str | type[Any] | np.dtype | SupportsDType

# The sizes of the dimensions of an array.
Shape: TypeAlias = Sequence[int]

# The sharding that a result should have; a partition spec refers to the current mesh.
ShardingLike: TypeAlias = Sharding | PartitionSpec | None

# The place of a new array; None leaves the choice to the library.
DeviceLike: TypeAlias = Device | Sharding | None

# The name of a mapped axis, or of an axis of a mesh.
AxisName: TypeAlias = Hashable
