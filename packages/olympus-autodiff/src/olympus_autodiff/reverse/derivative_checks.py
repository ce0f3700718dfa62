# SPDX-License-Identifier: Apache-2.0
"""Checks of derivatives against finite differences, for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes

from ..forward.jvp import jvp
from ..zeros import aval_of
from .vjp import vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]

# One tolerance for all dtypes, or a mapping from dtypes to tolerances.
Tolerance: TypeAlias = float | Mapping[Any, float] | None

# Tolerance of finite differences for each dtype, both relative and absolute.
_TOLERANCES = {
    "float16": 1e-2,
    "bfloat16": 1e-1,
    "float32": 2e-3,
    "float64": 1e-5,
    "complex64": 1e-3,
    "complex128": 1e-5,
}
_DEFAULT_STEP = 1e-4


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float = _DEFAULT_STEP,
    err_msg: str = "",
) -> None:
    """Compares a forward derivative with a finite difference in a random direction.

    Args:
      f: a function of arrays or pytrees of arrays.
      f_jvp: ``f_jvp(primals, tangents)`` returns the results of ``f`` and their tangents.
      args: the arguments at which to compare.
      atol: the absolute tolerance, or one for each dtype; the default depends on the dtype. The
        tolerance of an array is multiplied by the number of its elements.
      rtol: the relative tolerance, in the same form.
      eps: the length of the step.
      err_msg: the prefix of the error message.

    Raises:
      AssertionError: the derivatives differ.

    Example:
      >>> from olympus_ir import lax
      >>> check_jvp(lax.sin, lambda x, t: jvp(lax.sin, x, t), (1.0,), eps=1e-2)
    """
    generator = np.random.RandomState(0)
    args = tuple(args)
    tangents = _random_like(args, generator)
    results, result_tangents = f_jvp(args, tangents)
    _assert_close(results, f(*args), atol, rtol, f"{err_msg} primal")
    expected = _difference(f, args, tangents, eps)
    _assert_close(result_tangents, expected, atol, rtol, f"{err_msg} tangent")


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float = _DEFAULT_STEP,
    err_msg: str = "",
) -> None:
    """Compares a reverse derivative with a finite difference in a random direction.

    Args:
      f: a function of arrays or pytrees of arrays.
      f_vjp: ``f_vjp(*primals)`` returns the results of ``f``, and a function that maps their
        cotangents to those of the arguments.
      args: the arguments at which to compare.
      atol: the absolute tolerance, or one for each dtype; the default depends on the dtype. The
        tolerance of an array is multiplied by the number of its elements.
      rtol: the relative tolerance, in the same form.
      eps: the length of the step.
      err_msg: the prefix of the error message.

    Raises:
      AssertionError: the derivatives differ.

    Example:
      >>> from functools import partial
      >>> import olympus
      >>> import olympus.numpy as jnp
      >>> check_vjp(jnp.sin, partial(olympus.vjp, jnp.sin), (0.5,), rtol=1e-2)
    """
    generator = np.random.RandomState(0)
    args = tuple(args)
    results, pullback = f_vjp(*args)
    _assert_close(results, f(*args), atol, rtol, f"{err_msg} primal")
    tangents = _random_like(args, generator)
    result_tangents = _difference(f, args, tangents, eps)
    cotangents = _random_like(results, generator)
    pulled_back = pullback(cotangents)
    dtype = next(
        (np.real(leaf).dtype for leaf in map(np.asarray, pytrees.tree_leaves(results))),
        np.dtype("float32"),
    )
    projected = np.asarray(_inner_product(tangents, pulled_back), dtype)
    expected = np.asarray(_inner_product(result_tangents, cotangents), dtype)
    _assert_close(projected, expected, atol, rtol, f"{err_msg} cotangent projection")


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: str | Sequence[str] = ("fwd", "rev"),
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
) -> None:
    """Compares derivatives of a function with finite differences in random directions.

    Args:
      f: a function of arrays or pytrees of arrays.
      args: the arguments at which to compare.
      order: the highest order of derivatives to check.
      modes: ``"fwd"`` for forward, ``"rev"`` for reverse derivatives, or several of them.
      atol: the absolute tolerance, or one for each dtype; the default depends on the dtype. The
        tolerance of an array is multiplied by the number of its elements.
      rtol: the relative tolerance, in the same form.
      eps: the length of the step.

    Raises:
      AssertionError: a derivative is wrong.
      ValueError: a mode is neither ``"fwd"`` nor ``"rev"``.

    Example:
      >>> from olympus_ir import lax
      >>> check_grads(lax.sin, (1.0,), order=2, eps=1e-2)
    """
    args = tuple(args)
    step = _DEFAULT_STEP if eps is None else eps
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    unknown = set(modes) - {"fwd", "rev"}
    if unknown:
        raise ValueError(f'modes are "fwd" and "rev", got {sorted(unknown)}')

    def check(function: Callable[..., Any], values: tuple[Any, ...], left: int, path: str) -> None:
        if "fwd" in modes:
            message = f"{path}JVP"
            check_jvp(
                function,
                lambda primals, tangents: jvp(function, primals, tangents),
                values,
                atol,
                rtol,
                step,
                message,
            )
            if left > 1:
                tangents = _random_like(values, np.random.RandomState(0))
                check(
                    lambda *primals: jvp(function, primals, tangents)[1],
                    values,
                    left - 1,
                    f"{message} of ",
                )
        if "rev" in modes:
            message = f"{path}VJP"
            check_vjp(
                function,
                lambda *primals: vjp(function, *primals),
                values,
                atol,
                rtol,
                step,
                message,
            )
            if left > 1:
                results, _ = vjp(function, *values)
                cotangents = _random_like(results, np.random.RandomState(0))
                check(
                    lambda *primals: vjp(function, *primals)[1](cotangents),
                    values,
                    left - 1,
                    f"{message} of ",
                )

    check(f, args, order, "")


def _random_like(tree: Any, generator: np.random.RandomState) -> Any:
    def random_tangent(value: Any) -> Any:
        aval = aval_of(value).to_tangent_aval()
        if aval.dtype == dtypes.float0:
            return np.zeros(aval.shape, dtypes.float0)
        real = generator.randn(*aval.shape)
        if dtypes.issubdtype(aval.dtype, np.complexfloating):
            real = real + 1j * generator.randn(*aval.shape)
        return np.asarray(real).astype(aval.dtype)

    return pytrees.tree_map(random_tangent, tree)


def _is_float0(value: Any) -> bool:
    return getattr(value, "dtype", None) == dtypes.float0


def _difference(f: Callable[..., Any], args: tuple[Any, ...], tangents: Any, step: float) -> Any:
    def moved(sign: int) -> Any:
        return pytrees.tree_map(
            lambda x, t: x if _is_float0(t) else np.asarray(x + sign * step * t, aval_of(x).dtype),
            args,
            tangents,
        )

    return pytrees.tree_map(
        lambda above, below: (
            (np.asarray(above) - np.asarray(below)) / (2.0 * step)
            if dtypes.issubdtype(aval_of(above).dtype, np.inexact)
            else np.zeros(np.shape(above), dtypes.float0)
        ),
        f(*moved(1)),
        f(*moved(-1)),
    )


def _inner_product(first: Any, second: Any) -> Any:
    pairs = zip(pytrees.tree_leaves(first), pytrees.tree_leaves(second), strict=True)
    return sum(
        np.real(np.sum(np.asarray(x, np.result_type(x, np.float32)) * np.asarray(y)))
        for x, y in pairs
        if not _is_float0(x) and not _is_float0(y)
    )


def _assert_close(
    results: Any, expected: Any, atol: Tolerance, rtol: Tolerance, message: str
) -> None:
    if pytrees.tree_structure(results) != pytrees.tree_structure(expected):
        raise AssertionError(f"{message}: structures differ")
    leaves = zip(pytrees.tree_leaves(results), pytrees.tree_leaves(expected), strict=True)
    for computed, expected_leaf in leaves:
        if _is_float0(computed) or _is_float0(expected_leaf):
            continue
        aval = aval_of(computed)
        count = max(1, aval.size)
        np.testing.assert_allclose(
            np.asarray(computed, np.result_type(np.asarray(computed), np.float32)),
            np.asarray(expected_leaf),
            rtol=_tolerance(rtol, aval.dtype) * count,
            atol=_tolerance(atol, aval.dtype) * count,
            err_msg=message.strip(),
        )


def _tolerance(tolerance: Tolerance, dtype: Any) -> float:
    """Returns the tolerance for a dtype."""
    default = _TOLERANCES.get(np.dtype(dtype).name, 1e-2)
    if tolerance is None:
        return default
    if isinstance(tolerance, Mapping):
        return {np.dtype(key): value for key, value in tolerance.items()}.get(
            np.dtype(dtype), default
        )
    return tolerance
