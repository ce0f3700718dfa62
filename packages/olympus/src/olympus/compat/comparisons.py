# SPDX-License-Identifier: Apache-2.0
"""Comparison of arrays with a tolerance for each dtype, for tests that use JAX's helpers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes

__all__ = [
    "assert_close",
    "check_close",
    "check_dtypes_match",
    "check_eq",
    "default_gradient_tolerance",
    "default_tolerance",
    "dtype_of",
    "join_tolerance",
    "rand_like",
    "tolerance",
]

Tolerance = int | float | dict[Any, float] | None

# The default relative and absolute tolerance for each dtype, and that of derivatives. They are 0
# for other dtypes.
_NARROW = {"bfloat16": (1e-2, 1e-1), "float4_e2m1fn": (1.0, 1.0), "float8_e8m0fnu": (1.0, 1.0)}
_WIDE = {"float16": (1e-3, 1e-2), "float32": (1e-6, 2e-3), "float64": (1e-15, 1e-5)}
_COMPLEX = {"complex64": (1e-6, 1e-3), "complex128": (1e-15, 1e-5)}
_TOLERANCES = {
    **{np.dtype(dtype).name: (1e-1, 1e-1) for dtype in dtypes.small_floats},
    **_NARROW,
    **_WIDE,
    **_COMPLEX,
}
_EXACT = (dtypes.float0, np.dtype(bool), *dtypes.signed_integers, *dtypes.unsigned_integers)

default_gradient_tolerance = {np.dtype(name): values[1] for name, values in _TOLERANCES.items()}
_default_tolerance: dict[Any, float] = {
    **{np.dtype(dtype): 0 for dtype in _EXACT},
    **{np.dtype(name): values[0] for name, values in _TOLERANCES.items()},
}


def default_tolerance() -> dict[Any, float]:
    """Returns the dictionary of default tolerances by dtype, which tests may change."""
    return _default_tolerance


def dtype_of(x: Any) -> Any:
    """Returns the dtype of a value, which for Python's numbers is the default one."""
    if hasattr(x, "dtype"):
        return x.dtype
    if dtypes.is_python_scalar(x):
        return dtypes.python_scalar_dtype(type(x))
    return np.asarray(x).dtype


def tolerance(dtype: Any, tol: Tolerance = None) -> float:
    """Returns the tolerance for a dtype.

    Args:
      dtype: the dtype.
      tol: a tolerance for all dtypes, or a dictionary by dtype that goes before the defaults.
    """
    if isinstance(tol, int | float):
        return tol
    tolerances = {np.dtype(key): value for key, value in (tol or {}).items()}
    dtype = np.dtype(dtypes.canonicalize_dtype(dtype))
    return tolerances[dtype] if dtype in tolerances else _default_tolerance.get(dtype, 0)


def join_tolerance(tol1: Tolerance, tol2: Tolerance) -> dict[Any, float]:
    """Returns the larger of two tolerances for each dtype; None stands for 0."""

    def by_dtype(tol: Tolerance) -> dict[Any, float]:
        if isinstance(tol, dict):
            return {np.dtype(key): value for key, value in tol.items()}
        return dict.fromkeys(_default_tolerance, tol or 0)

    first, second = by_dtype(tol1), by_dtype(tol2)
    return {key: max(first.get(key, 0), second.get(key, 0)) for key in first | second}


def assert_close(
    actual: Any,
    desired: Any,
    *,
    atol: Tolerance = None,
    rtol: Tolerance = None,
    err_msg: str = "",
    factor: float = 1,
) -> None:
    """Compares two arrays, with the larger tolerance of their dtypes.

    Args:
      actual: an array.
      desired: an array.
      atol: the absolute tolerance; see `tolerance`.
      rtol: the relative tolerance.
      err_msg: text to add to the message.
      factor: a factor of both tolerances.

    Raises:
      AssertionError: elements differ.
    """
    both = [dtype_of(actual), dtype_of(desired)]
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(
            _comparable(actual),
            _comparable(desired),
            rtol=factor * max(tolerance(dtype, rtol) for dtype in both) or 1e-7,
            atol=factor * max(tolerance(dtype, atol) for dtype in both),
            err_msg=err_msg,
        )


def check_close(
    xs: Any, ys: Any, atol: Tolerance = None, rtol: Tolerance = None, err_msg: str = ""
) -> None:
    """Compares the leaves of two pytrees, with tolerances that grow with the number of elements.

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
        assert_close(x, y, atol=atol, rtol=rtol, err_msg=err_msg, factor=np.size(x))

    pytrees.tree_map(check, xs, ys)


def check_eq(xs: Any, ys: Any, err_msg: str = "") -> None:
    """Compares the leaves of two pytrees without a tolerance of their dtypes.

    Raises:
      AssertionError: values differ.
    """
    pytrees.tree_map(lambda x, y: assert_close(x, y, atol=0, rtol=0, err_msg=err_msg), xs, ys)


def check_dtypes_match(xs: Any, ys: Any) -> None:
    """Compares the dtypes of the leaves of two pytrees under the current settings.

    Raises:
      AssertionError: dtypes differ.
    """

    def check(x: Any, y: Any) -> None:
        first, second = (dtypes.canonicalize_dtype(dtype_of(value)) for value in (x, y))
        assert first == second, f"dtypes {first} and {second} differ"

    pytrees.tree_map(check, xs, ys)


def rand_like(rng: np.random.RandomState, x: Any) -> Any:
    """Returns normal numbers of the shape and dtype of a value."""
    dtype = np.dtype(dtype_of(x))
    drawn = np.asarray(rng.randn(*np.shape(x)), dtype)
    if dtypes.issubdtype(dtype, np.complexfloating):
        drawn = drawn + dtype.type(1j) * np.asarray(rng.randn(*np.shape(x)), dtype)
    return drawn.item() if dtypes.is_python_scalar(x) else drawn


def _comparable(x: Any) -> np.ndarray:
    """Returns the array, in a dtype in which NumPy can compare numbers."""
    if dtype_of(x) == dtypes.float0:
        return np.zeros(np.shape(x), bool)
    array = np.asarray(x)
    if array.dtype in (ml_dtypes.int2, ml_dtypes.int4, ml_dtypes.uint2, ml_dtypes.uint4):
        return array.astype(np.int8)
    return array if array.dtype.kind in "?biufcO" else array.astype(np.float32)
