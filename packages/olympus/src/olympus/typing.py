# SPDX-License-Identifier: Apache-2.0
"""Types for annotations."""

from typing import Any, Protocol, TypeAlias

import numpy as np

from olympus_ir.types.arrays import Array


class SupportsDType(Protocol):
    """Protocol of objects with a dtype."""

    @property
    def dtype(self) -> np.dtype: ...


# Types that convert to arrays without loss: arrays, NumPy's arrays and scalars, Python scalars.
ArrayLike: TypeAlias = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex
# Types of values that name a dtype.
DTypeLike: TypeAlias = str | type[Any] | np.dtype | SupportsDType

__all__ = ["ArrayLike", "DTypeLike"]
