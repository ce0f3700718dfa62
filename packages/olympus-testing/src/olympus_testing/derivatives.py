# SPDX-License-Identifier: Apache-2.0
"""Comparison of derivatives with finite differences along random directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from olympus_ir.lax.core.values import array_aval
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes

from .tolerances import assert_close

__all__ = ["check_grads", "check_jvp", "check_vjp", "pairing", "random_like"]

# Steps of the central difference by dtype, near the cube root of the rounding error.
_STEPS = {"float64": 1e-5, "complex128": 1e-5, "float32": 1e-2, "complex64": 1e-2}
_TOLERANCES = {"float64": 1e-6, "complex128": 1e-6, "float32": 2e-2, "complex64": 2e-2}


class Jvp(Protocol):
    """Type of a transformation `jvp(fun, primals, tangents) -> (results, tangents of results)`."""

    def __call__(self, fun: Callable, primals: Sequence, tangents: Sequence, /) -> tuple: ...


class Vjp(Protocol):
    """Type of a transformation `vjp(fun, *primals) -> (results, function of cotangents)`.

    The function maps cotangents of the results to a tuple of cotangents of the primals.
    """

    def __call__(self, fun: Callable, /, *primals: Any) -> tuple: ...


def check_grads(
    fun: Callable[..., Any],
    args: Sequence[Any],
    order: int = 1,
    *,
    jvp: Jvp | None = None,
    vjp: Vjp | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    seed: int = 0,
) -> None:
    """Compares derivatives of a function with finite differences, in a random direction.

    The transformations are arguments because this package depends on olympus-ir only. For a higher
    order, the check differentiates the derivatives of the previous order in each mode.

    Args:
      fun: a function of arrays or pytrees of arrays of inexact dtypes; it may close over other
        arrays.
      args: the point of differentiation.
      order: the highest order to check.
      jvp: forward differentiation; not checked if None.
      vjp: reverse differentiation; not checked if None. Products of tangents and cotangents are
        compared with finite differences.
      rtol: the relative tolerance; by default a tolerance that finite differences in the dtype
        attain.
      atol: the absolute tolerance, by default ``rtol``.
      step: the length of the step of the finite difference.
      seed: the seed of the random directions.

    Raises:
      AssertionError: a derivative is wrong.
      TypeError: neither ``jvp`` nor ``vjp`` is given.
    """
    if jvp is None and vjp is None:
        raise TypeError("check_grads needs a transformation to check: give `jvp` or `vjp`")
    options = {"rtol": rtol, "atol": atol, "step": step, "seed": seed}
    args = tuple(args)
    if jvp is not None:
        forward = jvp
        check_jvp(fun, args, jvp=forward, **options)
        if order > 1:
            tangents = random_like(args, np.random.default_rng(seed + 1))
            check_grads(
                lambda *primals: forward(fun, primals, tangents)[1],
                args,
                order - 1,
                jvp=jvp,
                vjp=vjp,
                **{**options, "seed": seed + 10},
            )
    if vjp is not None:
        reverse = vjp
        check_vjp(fun, args, vjp=reverse, **options)
        if order > 1:
            cotangents = random_like(fun(*args), np.random.default_rng(seed + 2))
            check_grads(
                lambda *primals: reverse(fun, *primals)[1](cotangents),
                args,
                order - 1,
                jvp=jvp,
                vjp=vjp,
                **{**options, "seed": seed + 20},
            )


def check_jvp(
    fun: Callable[..., Any],
    args: Sequence[Any],
    *,
    jvp: Jvp,
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    seed: int = 0,
) -> None:
    """Compares forward derivatives with finite differences; see `check_grads`."""
    args = tuple(args)
    tangents = random_like(args, np.random.default_rng(seed))
    results, result_tangents = jvp(fun, args, tangents)
    assert_close(results, fun(*args), message="primal results of jvp")
    expected = _finite_difference(fun, args, tangents, step)
    rtol, atol = _tolerances(args, rtol, atol)
    _assert_tangents_close(result_tangents, expected, rtol, atol, "jvp and finite difference")


def check_vjp(
    fun: Callable[..., Any],
    args: Sequence[Any],
    *,
    vjp: Vjp,
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    seed: int = 0,
) -> None:
    """Compares reverse derivatives with finite differences; see `check_grads`.

    Cotangents ``c`` of the result and tangents ``t`` of the arguments are paired:
    ``<c, J t> = <J^T c, t>``, where ``<a, b>`` is the real part of the sum of all products.
    """
    args = tuple(args)
    generator = np.random.default_rng(seed)
    tangents = random_like(args, generator)
    results, pullback = vjp(fun, *args)
    assert_close(results, fun(*args), message="primal results of vjp")
    cotangents = random_like(results, generator)
    argument_cotangents = pullback(cotangents)
    for argument, cotangent in zip(
        pytrees.tree_leaves(args), pytrees.tree_leaves(tuple(argument_cotangents)), strict=True
    ):
        expected_aval, got = array_aval(argument), array_aval(cotangent)
        assert (got.shape, got.dtype) == (expected_aval.shape, expected_aval.dtype), (
            f"the cotangent of an argument {expected_aval} has type {got}"
        )
    result_tangents = _finite_difference(fun, args, tangents, step)
    rtol, atol = _tolerances(args, rtol, atol)
    np.testing.assert_allclose(
        pairing(argument_cotangents, tangents),
        pairing(cotangents, result_tangents),
        rtol=rtol,
        atol=atol,
        err_msg="vjp and finite difference",
    )


def random_like(tree: Any, generator: np.random.Generator) -> Any:
    """Draws random values of the tangent types of arrays."""

    def random_leaf(leaf: Any) -> np.ndarray:
        aval = array_aval(leaf)
        dtype = dtypes.tangent_dtype(aval.dtype)
        if dtype == dtypes.float0:
            return np.zeros(aval.shape, dtype)
        values = generator.standard_normal(aval.shape)
        if dtype.kind == "c":
            values = values + 1j * generator.standard_normal(aval.shape)
        return np.asarray(values).astype(dtype)

    return pytrees.tree_map(random_leaf, tree)


def _finite_difference(
    fun: Callable[..., Any], args: tuple, tangents: tuple, step: float | None
) -> Any:
    """Returns the central difference of ``fun`` in the direction of the tangents."""
    names = [np.dtype(array_aval(leaf).dtype).name for leaf in pytrees.tree_leaves(args)]
    if step is None:
        step = max((_STEPS.get(name, 1e-1) for name in names), default=1e-1)

    def moved(distance: float) -> tuple:
        return pytrees.tree_map(
            lambda x, t: (np.asarray(x) + np.asarray(distance * t)).astype(np.asarray(x).dtype),
            args,
            tangents,
        )

    def difference(ahead: Any, behind: Any) -> np.ndarray:
        ahead, behind = np.asarray(ahead), np.asarray(behind)
        if not dtypes.issubdtype(ahead.dtype, np.inexact):
            return np.zeros(ahead.shape, dtypes.float0)
        wide = np.complex128 if ahead.dtype.kind == "c" else np.float64
        return (ahead.astype(wide) - behind.astype(wide)) / (2 * step)

    return pytrees.tree_map(difference, fun(*moved(step)), fun(*moved(-step)))


def _tolerances(args: Any, rtol: float | None, atol: float | None) -> tuple[float, float]:
    if rtol is None:
        names = [np.dtype(array_aval(leaf).dtype).name for leaf in pytrees.tree_leaves(args)]
        rtol = max((_TOLERANCES.get(name, 1e-1) for name in names), default=1e-1)
    return rtol, rtol if atol is None else atol


def _assert_tangents_close(
    actual: Any, expected: Any, rtol: float, atol: float, message: str
) -> None:
    actual_leaves, expected_leaves = pytrees.tree_leaves(actual), pytrees.tree_leaves(expected)
    for actual_leaf, expected_leaf in zip(actual_leaves, expected_leaves, strict=True):
        if np.asarray(expected_leaf).dtype != dtypes.float0:
            assert_close(
                actual_leaf,
                expected_leaf,
                rtol=rtol,
                atol=atol,
                check_dtypes=False,
                message=message,
            )


def pairing(cotangents: Any, tangents: Any) -> float:
    """Returns the real part of the sum of the products of all cotangents with their tangents."""
    total = 0.0
    for cotangent, tangent in zip(
        pytrees.tree_leaves(cotangents), pytrees.tree_leaves(tangents), strict=True
    ):
        cotangent, tangent = np.asarray(cotangent), np.asarray(tangent)
        if dtypes.float0 not in (cotangent.dtype, tangent.dtype):
            wide = np.complex128 if "c" in (cotangent.dtype.kind, tangent.dtype.kind) else float
            total += float(np.sum(cotangent.astype(wide) * tangent.astype(wide)).real)
    return total
