# SPDX-License-Identifier: Apache-2.0
"""Comparison of derivatives with complex steps, which are accurate to rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir.lax.core.values import array_aval
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes

from .derivatives import Jvp, Vjp, pairing, random_like
from .tolerances import assert_close

__all__ = ["check_complex_step"]

# The square of the step is negligible against 1. The method subtracts nothing, so no digits are
# lost by cancellation.
_STEP = 1e-20
_TOLERANCES = {"float64": 1e-12, "float32": 1e-5}


def check_complex_step(
    fun: Callable[..., Any],
    *args: Any,
    jvp: Jvp | None = None,
    vjp: Vjp | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
) -> None:
    """Compares derivatives of an analytic function with complex steps, in a random direction.

    The derivative of ``fun`` at ``x`` along ``t`` is the imaginary part of ``fun(x + i * h * t)``
    over ``h``, for a very short step ``h`` (Squire and Trapp 1998; Martins, Sturdza and Alonso
    2003). This value is accurate to rounding, where finite differences lose half of the digits.

    The function must be analytic around the point, and take complex numbers there. The function
    must not use ``abs``, ``real``, ``imag``, ``conj`` or comparisons of the argument.

    Args:
      fun: a function of arrays or pytrees of arrays. It is called with complex numbers in place of
        floats.
      *args: the point, arrays or pytrees of arrays of dtype float32 or float64. Arrays of integers
        stay as they are.
      jvp: forward differentiation; not checked if None. It is an argument because this package
        depends on olympus-ir only; `olympus.testing` fills in ``jvp`` and ``vjp``.
      vjp: reverse differentiation; not checked if None.
      rtol: the relative tolerance; by default a few rounding errors of the dtype.
      atol: the absolute tolerance, by default ``rtol``.
      seed: the seed of the random directions.

    Raises:
      AssertionError: a derivative is wrong, or the function is not analytic.
      TypeError: neither ``jvp`` nor ``vjp`` is given, or an argument has an unsupported dtype.

    Example:
      >>> def jvp(fun, primals, tangents):  # of the cube, by hand
      ...     (x,), (t,) = primals, tangents
      ...     return fun(x), 3 * x**2 * t
      >>> check_complex_step(lambda x: x**3, np.float64(2.0), jvp=jvp)
    """
    if jvp is None and vjp is None:
        raise TypeError("check_complex_step needs a transformation to check: give `jvp` or `vjp`")
    rtol = max(map(_tolerance, pytrees.tree_leaves(args)), default=0.0) if rtol is None else rtol
    atol = rtol if atol is None else atol
    generator = np.random.default_rng(seed)
    tangents = random_like(args, generator)
    results = fun(*pytrees.tree_map(_stepped, args, tangents))
    expected = pytrees.tree_map(lambda leaf: np.imag(np.asarray(leaf)) / _STEP, results)
    real = pytrees.tree_map(lambda leaf: np.real(np.asarray(leaf)), results)
    hint = _hint(results)
    primals = fun(*args)
    assert_close(
        real,
        primals,
        check_dtypes=False,
        message=f"real parts and the function{hint}",
        rtol=rtol,
        atol=atol,
    )
    if jvp is not None:
        _, pushed = jvp(fun, args, tangents)
        for got, expected_leaf in zip(
            pytrees.tree_leaves(pushed), pytrees.tree_leaves(expected), strict=True
        ):
            if np.asarray(got).dtype != dtypes.float0:
                message = f"jvp and complex step{hint}"
                assert_close(
                    got, expected_leaf, check_dtypes=False, message=message, rtol=rtol, atol=atol
                )
    if vjp is not None:
        _, pull = vjp(fun, *args)
        cotangents = random_like(primals, generator)
        np.testing.assert_allclose(
            pairing(pull(cotangents), tangents),
            pairing(cotangents, expected),
            err_msg=f"vjp and complex step{hint}",
            rtol=rtol,
            atol=atol,
        )


def _tolerance(leaf: Any) -> float:
    dtype = np.dtype(array_aval(leaf).dtype)
    if dtype.name not in _TOLERANCES and dtypes.issubdtype(dtype, np.inexact):
        raise TypeError(
            f"check_complex_step takes arguments of dtype float32 or float64, got {dtype.name}"
        )
    return _TOLERANCES.get(dtype.name, 0.0)


def _stepped(leaf: Any, tangent: np.ndarray) -> np.ndarray:
    if tangent.dtype == dtypes.float0:
        return leaf
    leaf = np.asarray(leaf)
    stepped = leaf + 1j * (_STEP * tangent.astype(np.float64))
    dtype = dtypes.dtype(tangent)
    return stepped.astype(np.complex64 if dtype == np.float32 else np.complex128)


def _hint(results: Any) -> str:
    """Returns a remark for messages if the function discards imaginary parts."""
    if all(np.iscomplexobj(np.asarray(leaf)) for leaf in pytrees.tree_leaves(results)):
        return ""
    return (
        "; a result is real for complex arguments, as if the function used abs, real, imag or a "
        "comparison: complex steps need analytic functions"
    )
