# SPDX-License-Identifier: Apache-2.0
"""Comparison of arrays with a tolerance for each dtype, for tests that use JAX's helpers."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.avals import get_aval

__all__ = ["check_close"]

# The default relative and absolute tolerance for each dtype; it is 0 for other dtypes.
_TOLERANCES = {
    "float8_e4m3fn": 1e-1,
    "float8_e5m2": 1e-1,
    "bfloat16": 1e-2,
    "float16": 1e-3,
    "float32": 1e-6,
    "float64": 2e-15,
    "complex64": 1e-6,
    "complex128": 2e-15,
}


def _tolerance(given: Any, x: Any, y: Any) -> float:
    """Returns the tolerance for two values.

    The tolerance is given for all dtypes or in a dictionary by dtype. The default applies to dtypes
    without a given tolerance. The result is the larger tolerance of the two dtypes.
    """
    if given is not None and not isinstance(given, dict):
        return given
    by_name = {np.dtype(dtype).name: value for dtype, value in (given or {}).items()}
    names = [dtypes.name_of(get_aval(value).dtype) for value in (x, y)]
    return max(by_name.get(name, _TOLERANCES.get(name, 0.0)) for name in names)


def check_close(xs: Any, ys: Any, atol: Any = None, rtol: Any = None, err_msg: str = "") -> None:
    """Compares the leaves of two pytrees.

    Args:
      xs: a pytree of arrays and scalars.
      ys: a pytree of the same structure.
      atol: the absolute tolerance, a number or a dictionary by dtype. Each dtype has a default.
      rtol: the relative tolerance, a number or a dictionary by dtype.
      err_msg: text to add to the message.

    Raises:
      AssertionError: shapes or values differ.

    Example:
      >>> check_close({"a": 1.0}, {"a": np.float32(1.0)})
    """

    def check(x: Any, y: Any) -> None:
        x, y = (value if hasattr(value, "dtype") else np.asarray(value) for value in (x, y))
        assert np.shape(x) == np.shape(y), (
            f"shapes {np.shape(x)} and {np.shape(y)} differ {err_msg}"
        )
        actual, desired = map(_comparable, (x, y))
        np.testing.assert_allclose(
            actual,
            desired,
            rtol=_tolerance(rtol, x, y),
            atol=_tolerance(atol, x, y),
            err_msg=err_msg,
        )

    pytrees.tree_map(check, xs, ys)


def _comparable(x: Any) -> np.ndarray:
    """Returns the array, converted to float32 if NumPy cannot compute with its dtype."""
    array = np.asarray(x)
    return array if array.dtype.kind in "?biufc" else array.astype(np.float32)
