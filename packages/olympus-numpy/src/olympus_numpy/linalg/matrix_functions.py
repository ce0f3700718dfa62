# SPDX-License-Identifier: Apache-2.0
"""Functions of Hermitian matrices, with derivatives of any order at any eigenvalues."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from olympus_ir.lax.linalg.matrices import adjoint
from olympus_ir.loading import deferred
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from .factoring import floating

if TYPE_CHECKING:
    from olympus_autodiff.spectral import matrix_functions
else:
    matrix_functions = deferred("olympus_autodiff.spectral.matrix_functions", milliseconds=7.9)

__all__ = ["matrix_function"]


def matrix_function(g: Callable[[Any], Any], a: ArrayLike) -> Array:
    """Returns ``V diag(g(w)) V^H`` for Hermitian matrices ``a = V diag(w) V^H``.

    The result has derivatives of any order in forward and in reverse mode, also where eigenvalues
    are equal or nearly equal. The n-th derivative needs arrays of N^(n+1) numbers for a matrix of N
    rows.

    Args:
      g: an elementwise function of the eigenvalues, smooth at the eigenvalues. It may be called at
        numbers between eigenvalues. It must not close over values with respect to which the result
        is differentiated.
      a: Hermitian matrices, of shape (..., N, N). Only the Hermitian part is used.

    Returns:
      Matrices of the shape of ``a``.

    Raises:
      ValueError: ``a`` does not hold square matrices.

    Example:
      >>> import olympus_numpy as jnp
      >>> from olympus_autodiff import grad
      >>> grad(lambda a: matrix_function(jnp.exp, a)[0, 1])(jnp.zeros((2, 2)))
      Array([[0. , 0.5],
             [0.5, 0. ]], dtype=float32)
    """
    (a,) = floating("matrix_function", a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(
            f"linalg.matrix_function requires square matrices, got `a` of shape {a.shape}"
        )
    return matrix_functions.hermitian_function(g, (a + adjoint(a)) / 2)
