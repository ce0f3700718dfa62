# SPDX-License-Identifier: Apache-2.0
"""Constants of 64 bits in programs while 64-bit types are disabled.

64-bit NumPy arrays are narrowed then if they enter a program as arguments or through `asarray`.
Operands of equations are an exception: a constant such as ``np.array(2, x.dtype)`` keeps its dtype
beside an array ``x`` of 64 bits, which was made while 64-bit types were enabled. If the flag
``explicit_x64_dtypes`` is ``"allow"``, a constant keeps its dtype beside other operands, too,
because the program requested it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..settings import config
from ..settings.config_flags import ExplicitX64Mode, explicit_x64_dtypes
from ..types import dtypes
from ..types.avals import ShapedArray
from .evaluation import evaluator
from .olympuspr import olympusprs_in_params

__all__ = [
    "allowed_dtype",
    "numpy_classes",
    "wide_constant",
    "wide_constant_aval",
    "wide_constants_allowed",
    "with_wide_constants",
    "with_wide_type",
]

# The classes of NumPy's arrays and scalars.
numpy_classes = frozenset({np.ndarray, *dtypes.numpy_scalar_types})


def wide_constants_allowed() -> bool:
    """Returns whether explicit requests for 64-bit types are accepted while they are disabled.

    The result is False if 64-bit types are enabled.
    """
    return explicit_x64_dtypes.value is ExplicitX64Mode.ALLOW and not config.enable_x64.value


def allowed_dtype(dtype: Any) -> Any:
    """Returns the dtype in which a function computes with arrays of a dtype.

    While 64-bit types are disabled, arrays of 64 bits that were made before are computed with in 32
    bits, as in JAX, unless the flag ``explicit_x64_dtypes`` allows 64 bits.

    Args:
      dtype: the dtype of the arrays.

    Example:
      >>> import numpy as np
      >>> allowed_dtype(np.dtype("float64")), allowed_dtype(np.dtype("int8"))
      (dtype('float32'), dtype('int8'))
    """
    if dtype in dtypes.half_width and not wide_constants_allowed():
        return dtypes.canonicalize_dtype(dtype)
    return dtype


def wide_constant_aval(
    position: int, operands: Sequence[Any], params: dict[str, Any]
) -> ShapedArray | None:
    """Returns the type of an operand that keeps its 64 bits; None if it has the usual type.

    An operand keeps its bits if another operand has its dtype. It is narrowed if another operand
    has the narrow dtype instead. If none has either, the flag ``explicit_x64_dtypes`` decides. If
    the parameters hold programs, the programs' inputs for this operand take the place of other
    operands.

    Args:
      position: the position of the operand.
      operands: all operands of the equation.
      params: the parameters of the equation.

    Example:
      >>> import numpy as np
      >>> wide_constant_aval(0, [np.float32(2)], {}) is None
      True
    """
    value = operands[position]
    if value.__class__ not in numpy_classes or value.dtype not in dtypes.half_width:
        return None
    if config.enable_x64.value:
        return None
    programs = list(olympusprs_in_params(params))
    if programs:
        # Loops and branches may have operands before the operands of their programs.
        index = position - len(operands)
        operand_dtypes = [
            program.invars[index].aval.dtype
            for program in programs
            if -index <= len(program.invars)
        ]
    else:
        arrays = [operand for operand in operands if operand.__class__ not in numpy_classes]
        # Python numbers have no dtype.
        operand_dtypes = [array.dtype for array in arrays if hasattr(array, "dtype")]
    if value.dtype not in operand_dtypes:
        if dtypes.half_width[value.dtype] in operand_dtypes or not wide_constants_allowed():
            return None
    return ShapedArray(value.shape, value.dtype)


def wide_constant(value: Any) -> ShapedArray | None:
    """Returns the type of a constant that keeps its 64 bits; None if it has the usual type."""
    return wide_constant_aval(0, (value,), {})


def with_wide_type(position: int, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Returns an operand; a constant that keeps its 64 bits is returned as an array."""
    aval = wide_constant_aval(position, operands, params)
    return operands[position] if aval is None else evaluator().array(operands[position], aval)


def with_wide_constants(operands: Sequence[Any], params: dict[str, Any]) -> Sequence[Any]:
    """Returns operands; constants that keep their 64 bits are returned as arrays."""
    if config.enable_x64.value:
        return operands
    for operand in operands:
        if operand.__class__ in numpy_classes and operand.dtype in dtypes.half_width:
            break
    else:
        return operands
    return [with_wide_type(position, operands, params) for position in range(len(operands))]
