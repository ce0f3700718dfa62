# SPDX-License-Identifier: Apache-2.0
"""Diagonals of Hessians, Gauss-Newton and Fisher matrices, exact or estimated."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.trees import pytrees
from olympus_ir.types.annotations import PyTree

from ..zeros import aval_of
from .products import fisher_product, gauss_newton_product, hessian_product

__all__ = ["fisher_diagonal", "gauss_newton_diagonal", "hessian_diagonal"]


def hessian_diagonal(f: Callable[[Any], Any], x: PyTree, probes: Any = None) -> PyTree:
    """Returns the diagonal of the Hessian of a scalar function.

    Without probes, the diagonal is exact and takes one Hessian product for each element. With
    probes, it is estimated by the mean of v * (H v) over the probes. The estimate is unbiased for
    vectors of random signs (Hutchinson 1989; Bekas, Kokiopoulou and Saad 2007).

    Args:
      f: a function with a scalar result.
      x: the argument, an array or a pytree of arrays.
      probes: vectors v, of the structure of ``x``; each array has the shape
        ``(count, *leaf.shape)``, such as ``random.rademacher(key, shape, dtype)``.

    Returns:
      The diagonal, of the structure of ``x``.

    Raises:
      ValueError: the probes do not have the structure or the shapes of ``x``.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import lax
      >>> cubes = lambda x: lax.reduce_sum(lax.integer_pow(x, 3), (0,))
      >>> hessian_diagonal(cubes, np.array([1.0, 2.0], np.float32))
      Array([ 6., 12.], dtype=float32)
    """
    return _diagonal(lambda v: hessian_product(f, x, v), x, probes)


def gauss_newton_diagonal(
    model: Callable[[Any], Any], loss: Callable[[Any], Any], x: PyTree, probes: Any = None
) -> PyTree:
    """Returns the diagonal of the Gauss-Newton matrix of ``loss(model(x))``.

    `gauss_newton_product` defines the matrix (Schraudolph 2002). Without probes, the diagonal is
    exact and takes one product for each element. With probes, it is Hutchinson's estimate, as in
    `hessian_diagonal`.

    Args:
      model: a function of ``x``.
      loss: a function of the model's result, with a scalar result.
      x: an array or a pytree of arrays.
      probes: random signs, as for `hessian_diagonal`.

    Returns:
      The diagonal, of the structure of ``x``.

    Raises:
      ValueError: the probes do not have the structure or the shapes of ``x``.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import lax
      >>> squares = lambda y: lax.reduce_sum(lax.integer_pow(y, 2), (0,))
      >>> double = lambda x: lax.mul(x, np.array([2.0, 3.0], np.float32))
      >>> gauss_newton_diagonal(double, squares, np.array([1.0, 1.0], np.float32))
      Array([ 8., 18.], dtype=float32)
    """
    return _diagonal(lambda v: gauss_newton_product(model, loss, x, v), x, probes)


def fisher_diagonal(
    model: Callable[[Any], Any], log_likelihood: Callable[[Any], Any], x: PyTree, probes: Any = None
) -> PyTree:
    """Returns the diagonal of the Fisher information of a model.

    `fisher_product` defines the matrix. The model returns natural parameters of an exponential
    family (Martens 2014). Without probes, the diagonal is exact and takes one product for each
    element. With probes, it is Hutchinson's estimate, as in `hessian_diagonal`.

    Args:
      model: maps ``x`` to natural parameters.
      log_likelihood: maps natural parameters to the log-likelihood of an observation.
      x: an array or a pytree of arrays.
      probes: random signs, as for `hessian_diagonal`.

    Returns:
      The diagonal, of the structure of ``x``.

    Raises:
      ValueError: the probes do not have the structure or the shapes of ``x``.

    Example:
      >>> float(fisher_diagonal(lambda x: 2.0 * x, lambda y: -(y**2) / 2, 1.0))
      4.0
    """
    return _diagonal(lambda v: fisher_product(model, log_likelihood, x, v), x, probes)


def _diagonal(product: Callable[[Any], Any], x: Any, probes: Any) -> Any:
    """Returns the diagonal of a symmetric matrix, given its product with vectors."""
    exact = probes is None
    if exact:
        probes = _unit_vectors(x)
    else:
        _check_probes(x, probes)

    def weighted(v: Any) -> Any:
        return pytrees.tree_map(lax.mul, v, product(v))

    def mean(leaf: Any) -> Any:
        count = 1 if exact else aval_of(leaf).shape[0]
        total = lax.reduce_sum(leaf, (0,))
        return lax.div(total, lax.full_like(total, count))

    return pytrees.tree_map(mean, vmap(weighted)(probes))


def _unit_vectors(x: Any) -> Any:
    """Returns the unit vectors of the space of ``x``, stacked along a leading dimension."""
    leaves, structure = pytrees.tree_flatten(x)
    avals = [aval_of(leaf) for leaf in leaves]
    sizes = [math.prod(aval.shape) for aval in avals]
    columns = np.split(np.eye(sum(sizes)), np.cumsum(sizes)[:-1], axis=1)
    vectors = [
        column.astype(aval.dtype).reshape(-1, *aval.shape)
        for column, aval in zip(columns, avals, strict=True)
    ]
    return pytrees.tree_unflatten(structure, vectors)


def _check_probes(x: Any, probes: Any) -> None:
    leaves, structure = pytrees.tree_flatten(x)
    probe_leaves, given_structure = pytrees.tree_flatten(probes)
    if structure != given_structure:
        raise ValueError(
            f"`probes` must have the structure of `x`, {structure}; got {given_structure}"
        )
    shapes = [tuple(aval_of(leaf).shape) for leaf in leaves]
    given_shapes = [tuple(aval_of(leaf).shape) for leaf in probe_leaves]
    count = given_shapes[0][0] if given_shapes and given_shapes[0] else None
    if given_shapes != [(count, *shape) for shape in shapes]:
        raise ValueError(
            "`probes` must have the shapes of `x` after a leading dimension of the same size: `x` "
            f"has the shapes {shapes}, got probes of the shapes {given_shapes}"
        )
