# SPDX-License-Identifier: Apache-2.0
"""Tolerances of each dtype, and the comparison of pytrees of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir.lax.core.values import array_aval
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes

__all__ = ["assert_close", "tolerance"]

# Relative and absolute tolerance of one operation. They are several units in the last place,
# because compilers approximate mathematical functions.
_TOLERANCES = {
    "float64": 1e-11,
    "complex128": 1e-11,
    "float32": 1e-5,
    "complex64": 1e-5,
    "float16": 2e-3,
    "bfloat16": 2e-2,
}
_SMALL_FLOATS = 0.25  # for floats of 8 bits or fewer: about one unit in the last place


def tolerance(dtype: Any) -> float:
    """Returns the relative tolerance of values of a dtype; zero for integers and booleans.

    Example:
      >>> tolerance("float32")
      1e-05
    """
    dtype = np.dtype(dtype)
    if dtypes.issubdtype(dtype, np.inexact):
        return _TOLERANCES.get(dtype.name, _SMALL_FLOATS)
    return 0.0


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    check_dtypes: bool = True,
    check_weak_types: bool = False,
    message: str = "",
) -> None:
    """Raises AssertionError if two pytrees of arrays differ.

    Args:
      actual: the values to test.
      expected: the expected values, in the same structure.
      rtol: the relative tolerance; by default the tolerance of the dtype.
      atol: the absolute tolerance; by default ``rtol``.
      check_dtypes: whether dtypes must be equal, too.
      check_weak_types: whether weak types must be equal, too.
      message: a description of the values, for the error.

    Example:
      >>> assert_close({"loss": np.float32(1)}, {"loss": np.float32(1 + 1e-7)})
    """
    actual_leaves, actual_tree = pytrees.tree_flatten(actual)
    expected_leaves, expected_tree = pytrees.tree_flatten(expected)
    assert actual_tree == expected_tree, f"{message}: structure {actual_tree} != {expected_tree}"
    for actual_leaf, expected_leaf in zip(actual_leaves, expected_leaves, strict=True):
        _assert_leaf_close(
            actual_leaf, expected_leaf, rtol, atol, check_dtypes, check_weak_types, message
        )


def _assert_leaf_close(
    actual: Any,
    expected: Any,
    rtol: float | None,
    atol: float | None,
    check_dtypes: bool,
    check_weak_types: bool,
    message: str,
) -> None:
    actual_aval, expected_aval = array_aval(actual), array_aval(expected)
    if check_dtypes:
        assert actual_aval.dtype == expected_aval.dtype, (
            f"{message}: dtype {actual_aval} != {expected_aval}"
        )
    if check_weak_types:
        assert actual_aval.weak_type == expected_aval.weak_type, (
            f"{message}: weak type {actual_aval!r} != {expected_aval!r}"
        )
    dtype = expected_aval.dtype
    if dtype == dtypes.float0:  # float0 arrays have no values to compare
        assert actual_aval.shape == expected_aval.shape, (
            f"{message}: shape of {actual_aval} != {expected_aval}"
        )
        return
    if dtypes.is_extended(dtype):
        actual, expected = np.asarray(actual.physical), np.asarray(expected.physical)
        dtype = expected.dtype
    values, expected_values = _comparable(actual), _comparable(expected)
    if rtol is None:
        actual_dtype = getattr(actual, "dtype", dtype)
        rtol = max(tolerance(dtype), tolerance(actual_dtype))
    np.testing.assert_allclose(
        values,
        expected_values,
        rtol=rtol,
        atol=rtol if atol is None else atol,
        equal_nan=True,
        err_msg=message,
        strict=True,
    )


def _comparable(value: Any) -> np.ndarray:
    """Converts floats to doubles, which NumPy can compare; returns other values unchanged."""
    array = np.asarray(value)
    if dtypes.issubdtype(array.dtype, np.floating):
        return array.astype(np.float64)
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    if dtypes.issubdtype(array.dtype, np.integer) and array.dtype.itemsize < 8:
        return array.astype(np.int64)
    return array
