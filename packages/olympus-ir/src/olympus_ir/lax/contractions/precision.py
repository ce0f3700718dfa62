# SPDX-License-Identifier: Apache-2.0
"""`Precision` of contractions and convolutions, and its names."""

from __future__ import annotations

import enum
from collections.abc import Hashable

__all__ = ["Precision"]


class Precision(enum.Enum):
    """The precision of products on accelerators that offer a choice.

    Attributes:
      DEFAULT: the fastest.
      HIGH: intermediate.
      HIGHEST: the precision of the operands.
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> Precision | None:
        return precision_names.get(value) if isinstance(value, Hashable) else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return self.name


precision_names: dict[object, Precision] = {
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "default": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    None: Precision.DEFAULT,
}
