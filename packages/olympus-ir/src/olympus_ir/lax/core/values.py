# SPDX-License-Identifier: Apache-2.0
"""Python scalars and NumPy arrays as operands and results of operations."""

from __future__ import annotations

from typing import Any
from typing import cast as cast_type

import numpy as np

from ...diagnostics.user_warnings import warn_user
from ...programs.evaluation import evaluator
from ...programs.staging import StagingTrace
from ...programs.tracing import CompileTimeTrace, current, evaluation_trace
from ...programs.wide_constants import wide_constant
from ...settings.config_states import debug_infs, debug_nans
from ...types import dtypes
from ...types.annotations import ArrayLike
from ...types.arrays import Array as Array
from ...types.avals import ShapedArray, get_aval

__all__ = [
    "ArrayLike",
    "array_aval",
    "as_array",
    "cast",
    "dtype_of",
    "invalid_elements",
    "recording_trace",
    "shape_of",
    "typed_scalar",
]

# The classes of operands without an attribute for their shape; that of a class is a descriptor.
_WITHOUT_SHAPE = frozenset({bool, int, float, complex, type})


def array_aval(value: Any) -> ShapedArray:
    """Returns the type of an operand that is an array or scalar."""
    return cast_type(ShapedArray, get_aval(value))


def shape_of(value: Any) -> tuple[int, ...]:
    """Returns the shape of an operand; () for Python scalars."""
    if value.__class__ in _WITHOUT_SHAPE:
        return array_aval(value).shape if value.__class__ is type else ()
    try:
        return value.shape
    except AttributeError:
        return array_aval(value).shape


def dtype_of(value: Any) -> Any:
    """Returns the dtype of an operand.

    Python scalars have the default dtype, which has 64 bits only if these are enabled.
    """
    if isinstance(value, Array):
        return value.dtype
    return array_aval(value).dtype


def as_array(value: Any) -> Array:
    """Converts an operand to an array, or to a constant of the program being traced."""
    if isinstance(value, Array):
        return value
    wide = wide_constant(value)
    if wide is not None:
        value = evaluator().array(value, wide)
    recording = recording_trace()
    if recording is not None:
        return recording.tracer(value)
    return value if wide is not None else evaluator().array(np.asarray(value), get_aval(value))


def invalid_elements(value: Any) -> str | None:
    """Returns ``"nan"`` or ``"inf"`` if an array has such elements and their debug flag is set.

    Returns None otherwise.
    """
    if not dtypes.issubdtype(value.dtype, np.inexact):
        return None
    array = np.asarray(value)
    if array.dtype.isbuiltin != 1:
        array = array.astype(np.float32)
    if debug_nans.value and np.isnan(array).any():
        return "nan"
    if debug_infs.value and np.isinf(array).any():
        return "inf"
    return None


def recording_trace() -> StagingTrace | None:
    """Returns the trace that records equations, below all traces that transform values.

    Returns None inside of `ensure_compile_time_eval`, where values are concrete.
    """
    trace: Any = current.trace
    while trace is not evaluation_trace and trace is not None:
        if trace.__class__ is StagingTrace:
            return trace
        trace = None if trace.__class__ is CompileTimeTrace else trace.parent
    return None


def typed_scalar(value: Any, dtype: Any, weak_type: bool = False) -> Any:
    """Returns a concrete scalar of the given dtype, without recording an equation."""
    array = np.asarray(value)
    array = cast(array, dtype)
    if current.trace is evaluation_trace:
        return evaluator().array(array, ShapedArray((), dtype, weak_type))
    if not weak_type:
        return array
    # Python scalars are weakly typed literals of the default dtypes.
    kind = dtypes.scalar_type_of(dtype)
    if kind is bool or dtypes.python_scalar_dtype(kind) != dtype:
        return evaluator().array(array, ShapedArray((), dtype, weak_type))
    return array.item()


def cast(array: np.ndarray, dtype: Any) -> np.ndarray:
    """Converts the elements of a NumPy array as XLA does.

    Floats outside the range of an integer dtype become the nearest integer in the range. NaN
    becomes zero. Integers wrap around. The imaginary part of complex numbers is dropped with a
    warning.
    """
    if array.dtype == dtype:
        return array
    if array.dtype.kind == "c" and not dtypes.issubdtype(dtype, np.complexfloating):
        if dtypes.issubdtype(dtype, np.bool_):
            return array != 0
        warn_user(
            "Casting complex values to real discards the imaginary part",
            np.exceptions.ComplexWarning,
        )
        array = np.real(array)
    if dtypes.issubdtype(dtype, np.integer) and dtypes.issubdtype(array.dtype, np.floating):
        return _float_to_integer(array, dtype)
    if dtypes.issubdtype(dtype, np.bool_) and array.dtype.kind not in "biufc":
        return array.astype(np.float64) != 0
    if array.dtype.isbuiltin != 1 and np.dtype(dtype).isbuiltin != 1:
        # ml_dtypes converts few of its dtypes to one another, but all to those of NumPy and back.
        is_integer = dtypes.issubdtype(array.dtype, np.integer)
        array = array.astype(np.int64 if is_integer else np.float64)
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def _float_to_integer(array: np.ndarray, dtype: Any) -> np.ndarray:
    limits = dtypes.iinfo(dtype)
    wide = np.trunc(array.astype(np.float64))
    smallest, largest = int(limits.min), int(limits.max)
    below, above = wide <= smallest, wide >= largest
    inside = np.where(np.isnan(wide) | below | above, 0.0, wide)
    # Convert through 64-bit integers, because narrow dtypes of ml_dtypes convert from integers
    # only.
    result = inside.astype(np.uint64 if smallest == 0 else np.int64)
    kind = result.dtype.type
    result = np.where(below, kind(smallest), np.where(above, kind(largest), result))
    return result.astype(dtype)
