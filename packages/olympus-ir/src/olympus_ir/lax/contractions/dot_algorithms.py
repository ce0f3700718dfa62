# SPDX-License-Identifier: Apache-2.0
"""Algorithms of `dot` and `dot_general`: the dtypes of rounded operands and of accumulation."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple, TypeAlias

import ml_dtypes
import numpy as np

from .precision import Precision

__all__ = ["DotAlgorithm", "DotAlgorithmPreset", "PrecisionLike"]


class DotAlgorithm(NamedTuple):
    """An algorithm for contractions, specified by its parts.

    Platforms support only a few combinations. `DotAlgorithmPreset` lists those that at least one
    platform supports.

    Attributes:
      lhs_precision_type: the dtype to which elements of the left operand are rounded.
      rhs_precision_type: the dtype to which elements of the right operand are rounded.
      accumulation_type: the dtype of sums.
      lhs_component_count: the number of parts into which elements of the left operand are split.
      rhs_component_count: the number of parts into which elements of the right operand are split.
      num_primitive_operations: the number of products of parts that are computed.
      allow_imprecise_accumulation: whether intermediate sums may have a lower precision.

    Example:
      >>> from olympus_ir import lax
      >>> lax.DotAlgorithm("bfloat16", "bfloat16", "float32").num_primitive_operations
      1
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False

    def transposed(self) -> DotAlgorithm:
        """The algorithm with left and right operand exchanged."""
        return self._replace(
            lhs_precision_type=self.rhs_precision_type,
            rhs_precision_type=self.lhs_precision_type,
            lhs_component_count=self.rhs_component_count,
            rhs_component_count=self.lhs_component_count,
        )


_FLOAT8_TYPES = (
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e4m3b11fnuz,
)


class DotAlgorithmPreset(enum.Enum):
    """Algorithms for contractions, named for the dtypes of operands and of sums.

    Operands of other dtypes are converted before the product, and the result after it.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.dot(np.float32([1, 2]), np.float32([3, 4]), precision="F32_F32_F32")
      Array(11., dtype=float32)
    """

    DEFAULT = enum.auto()
    ANY_F8_ANY_F8_F32 = enum.auto()
    ANY_F8_ANY_F8_F32_FAST_ACCUM = enum.auto()
    ANY_F8_ANY_F8_ANY = enum.auto()
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    BF16_BF16_F32_X9 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return self.name

    @property
    def takes_any_float8(self) -> bool:
        """Returns whether the precision follows from the operands' 8-bit float dtypes."""
        return self.name.startswith("ANY_F8")

    @property
    def supported_lhs_types(self) -> tuple[type, ...] | None:
        """The dtypes in which the left operand may be stored; None for any."""
        return _STORAGE_TYPES.get(self.name)

    @property
    def supported_rhs_types(self) -> tuple[type, ...] | None:
        """The dtypes in which the right operand may be stored; None for any."""
        return _STORAGE_TYPES.get(self.name)

    @property
    def accumulation_type(self) -> type | None:
        """The dtype of sums; None if the compiler chooses."""
        if self.name.startswith("ANY_F8_ANY_F8_F32"):
            return np.float32
        return _SUM_TYPES.get(self.name)

    def supported_output_types(self, lhs_dtype: Any, rhs_dtype: Any) -> tuple[type, ...] | None:
        """Returns the dtypes in which the result may be stored; None for any."""
        if self.name.startswith("ANY_F8_ANY_F8_F32"):
            return (np.float32, np.float16, ml_dtypes.bfloat16, *_FLOAT8_TYPES)
        sums = self.accumulation_type
        if sums is None:
            return None
        narrow = {"F16_F16_F32": np.float16, "BF16_BF16_F32": ml_dtypes.bfloat16}.get(self.name)
        if narrow is not None and np.dtype(lhs_dtype) == np.dtype(rhs_dtype) == np.dtype(narrow):
            return (sums, narrow)
        return (sums,)


_BF16 = ml_dtypes.bfloat16
_STORAGE_TYPES: dict[str, tuple[type, ...]] = {
    "F16_F16_F16": (np.float16,),
    "F16_F16_F32": (np.float16,),
    "BF16_BF16_BF16": (_BF16, np.float32),
    "BF16_BF16_F32": (_BF16, np.float32),
    "BF16_BF16_F32_X3": (np.float32,),
    "BF16_BF16_F32_X6": (np.float32,),
    "BF16_BF16_F32_X9": (np.float32,),
    "TF32_TF32_F32": (np.float32,),
    "TF32_TF32_F32_X3": (np.float32,),
    "F32_F32_F32": (np.float32,),
    "F64_F64_F64": (np.float64,),
}
_SUM_TYPES: dict[str, type] = {
    name: {"F16": np.float16, "BF16": _BF16, "F32": np.float32, "F64": np.float64}[
        name.split("_")[2]
    ]
    for name in _STORAGE_TYPES
}

PrecisionLike: TypeAlias = (
    str
    | Precision
    | tuple[str, str]
    | tuple[Precision, Precision]
    | DotAlgorithm
    | DotAlgorithmPreset
    | None
)
# The results of `canonicalize_precision`.
CanonicalPrecision: TypeAlias = (
    tuple[Precision, Precision] | DotAlgorithm | DotAlgorithmPreset | None
)
