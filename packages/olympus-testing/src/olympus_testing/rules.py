# SPDX-License-Identifier: Apache-2.0
"""`check_rule`, which runs all checks of a function with custom rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from olympus_ir.lax.core.values import array_aval
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes

from .batching import check_vmap
from .derivatives import check_grads, pairing, random_like
from .tolerances import assert_close

__all__ = ["Transformations", "check_rule"]


class Transformations(Protocol):
    """Type of a module, or another object, that has the transformations to check."""

    jit: Any
    jvp: Any
    vjp: Any
    vmap: Any
    linear_transpose: Any


def check_rule(
    fun: Callable[..., Any],
    *args: Any,
    transformations: Transformations,
    derivatives: bool = True,
    order: int = 2,
    batch: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
) -> None:
    """Checks all rules of a function against its reference.

    The reference is the attribute ``reference`` of the function, else its attribute ``fun``, else
    the function itself. The checks are:

    * the result, compiled and not, equals that of the reference;
    * derivatives in forward and in reverse mode equal finite differences of the reference, up to
      the given order, and so do compiled derivatives;
    * each mode is the transpose of the other;
    * the function and its derivatives, batched, equal a loop over the batch;
    * the transpose of a linear function fits the function.

    Args:
      fun: the function, such as an `olympus.custom_rule`.
      *args: a point at which the function is smooth, arrays or pytrees of arrays.
      transformations: an object with ``jit``, ``jvp``, ``vjp``, ``vmap`` and ``linear_transpose``.
        It is an argument because this package depends on olympus-ir only; `olympus.testing` fills
        it in.
      derivatives: whether to compare derivatives with finite differences. Pass False for a rule
        that differs from the derivative on purpose; its other properties are still checked.
      order: the highest order of derivatives that are compared with finite differences.
      batch: whether to check `vmap`.
      rtol: the relative tolerance of derivatives.
      atol: the absolute tolerance of derivatives.
      seed: the seed of the random directions.

    Raises:
      AssertionError: a rule is wrong; the message names the check.

    Example:
      >>> import olympus
      >>> import olympus.numpy as jnp
      >>> check_rule(jnp.sin, jnp.array([0.5, 1.0]), transformations=olympus)
    """
    reference = getattr(fun, "reference", None) or getattr(fun, "fun", fun)
    expected = reference(*args)
    assert_close(fun(*args), expected, message="the result and that of the reference")
    compiled = transformations.jit(lambda *given: fun(*given))
    assert_close(compiled(*args), expected, message="the compiled result and the reference")
    if any(_is_inexact(leaf) for leaf in pytrees.tree_leaves(args)):
        if derivatives:
            options = {"rtol": rtol, "atol": atol, "seed": seed}
            modes = {"jvp": transformations.jvp, "vjp": transformations.vjp}
            check_grads(fun, args, order, **modes, **options)
            check_grads(compiled, args, 1, **modes, **options)
        _check_modes(fun, args, transformations, rtol, atol, seed)
    if batch:
        _check_batches(fun, args, transformations, rtol, atol)
    if getattr(fun, "transpose", None) is not None and getattr(fun, "linear_argnums", 0) is None:
        _check_transpose(fun, args, transformations, rtol, seed)


def _is_inexact(leaf: Any) -> bool:
    return dtypes.issubdtype(array_aval(leaf).dtype, np.inexact)


def _check_modes(
    fun: Callable[..., Any],
    args: tuple,
    transformations: Transformations,
    rtol: float | None,
    atol: float | None,
    seed: int,
) -> None:
    """Compares ``<c, J t>`` of forward mode with ``<J^T c, t>`` of reverse mode."""
    generator = np.random.default_rng(seed)
    tangents = random_like(args, generator)
    out, pushed = transformations.jvp(fun, args, tangents)
    _, pull = transformations.vjp(fun, *args)
    cotangents = random_like(out, generator)
    np.testing.assert_allclose(
        pairing(pull(cotangents), tangents),
        pairing(cotangents, pushed),
        rtol=rtol or 1e-4,
        atol=atol or 1e-4,
        err_msg="forward and reverse mode",
    )


def _check_batches(
    fun: Callable[..., Any],
    args: tuple,
    transformations: Transformations,
    rtol: float | None,
    atol: float | None,
) -> None:
    """Compares the batched function, and its batched derivative, with loops."""
    leaves, tree = pytrees.tree_flatten(args)

    def moved(factor: float) -> list[Any]:
        return [_scaled(leaf, factor) for leaf in leaves]

    def flat(*values: Any) -> Any:
        return fun(*pytrees.tree_unflatten(tree, values))

    examples = [moved(factor) for factor in (1.0, 0.875, 1.125)]
    rtol = rtol or 1e-4
    check_vmap(flat, examples, vmap=transformations.vmap, rtol=rtol, atol=atol)
    if all(map(_is_inexact, leaves)):
        generator = np.random.default_rng(1)
        directions = random_like(tuple(leaves), generator)

        def derivative(*values: Any) -> Any:
            return transformations.jvp(flat, values, directions)[1]

        def cotangents(*values: Any) -> Any:
            out, pull = transformations.vjp(flat, *values)
            return pull(pytrees.tree_map(_ones, out))

        for function in (derivative, cotangents):
            check_vmap(function, examples, vmap=transformations.vmap, rtol=rtol, atol=atol)


def _scaled(leaf: Any, factor: float) -> np.ndarray:
    array = np.asarray(leaf)
    return (array * factor).astype(array.dtype) if _is_inexact(leaf) else array


def _ones(leaf: Any) -> np.ndarray:
    aval = array_aval(leaf)
    return np.ones(aval.shape, dtypes.tangent_dtype(aval.dtype))


def _check_transpose(
    fun: Callable[..., Any],
    args: tuple,
    transformations: Transformations,
    rtol: float | None,
    seed: int,
) -> None:
    """Compares ``<c, f(t)>`` with ``<f^T(c), t>``."""
    generator = np.random.default_rng(seed)
    directions = random_like(args, generator)
    out = fun(*directions)
    cotangents = random_like(out, generator)
    pulled = transformations.linear_transpose(fun, *args)(cotangents)
    np.testing.assert_allclose(
        pairing(pulled, directions),
        pairing(cotangents, out),
        rtol=rtol or 1e-4,
        atol=1e-4,
        err_msg="the function and its transpose",
    )
