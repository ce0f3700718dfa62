# SPDX-License-Identifier: Apache-2.0
"""Vector quantization."""

from __future__ import annotations

from typing import Any

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import outlined
from olympus_numpy.core.promotion import check_arraylike, promote_dtypes_inexact

__all__ = ["vq"]


def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """Assigns observations to the nearest codes of a code book.

    Args:
      obs: the observations, of shape (n, k), or (n,) for scalars.
      code_book: the codes, of shape (m, k), or (m,) for scalars.
      check_finite: ignored, since values are unknown while tracing.

    Returns:
      A pair of arrays of shape (n,): the index of the nearest code (int32) and the Euclidean
      distance from this code (floating).

    Raises:
      ValueError: the operands have different ranks, a rank other than 1 or 2, or different numbers
        of columns.

    Example:
      >>> import olympus_numpy as jnp
      >>> vq(jnp.array([0.1, 0.9]), jnp.array([0.0, 1.0]))[0]
      Array([0, 1], dtype=int32)
    """
    check_arraylike("vq", obs, code_book)
    if onp.ndim(obs) != onp.ndim(code_book):
        raise ValueError(
            "Observation and code_book should have the same rank, got the shapes "
            f"{onp.shape(obs)} and {onp.shape(code_book)}"
        )
    if onp.ndim(obs) not in (1, 2):
        raise ValueError(f"ndim different than 1 or 2 are not supported, got {onp.ndim(obs)}")
    return _vq(obs, code_book)


@outlined()
def _vq(obs: Any, code_book: Any) -> Any:
    obs, code_book = promote_dtypes_inexact(obs, code_book)
    if obs.ndim == 1:
        obs, code_book = obs[:, None], code_book[:, None]
    if obs.shape[1] != code_book.shape[1]:
        raise ShapeError(
            "vq: observations and codes must have the same number of columns, got "
            f"{obs.shape[1]} and {code_book.shape[1]}"
        )
    difference = onp.abs(obs[:, None, :] - code_book[None, :, :])
    distance = onp.sum(difference * difference, axis=-1)
    code = onp.argmin(distance, axis=-1)
    return code, lax.sqrt(onp.min(distance, axis=-1))
