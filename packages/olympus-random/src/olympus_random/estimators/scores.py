# SPDX-License-Identifier: Apache-2.0
"""Means over draws, with unbiased derivatives computed from the log-densities of the draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes

__all__ = ["check_samples", "mean", "score_mean"]


def check_samples(samples: int) -> None:
    """Checks that a number of samples is positive.

    Raises:
      ValueError: the number is not positive.
    """
    if samples < 1:
        raise ValueError(f"`samples` must be positive, got {samples}")


def mean(values: Any) -> Any:
    """Returns the means over the leading dimension of each array of a pytree."""

    def leaf_mean(leaf: Any) -> Any:
        total = lax.reduce_sum(leaf, (0,))
        return lax.div(total, lax.full_like(total, leaf.shape[0]))

    return pytrees.tree_map(leaf_mean, values)


def score_mean(values: Any, log_densities: Any, group: int = 1) -> Any:
    """Returns the mean of values, with unbiased derivatives of the expectation to any order.

    Each value is multiplied by a factor that equals one. The derivatives of the factor are those of
    the density, divided by the density (Foerster and others 2018: DiCE). The mean of the values of
    other draws is a baseline, which lowers the variance and adds no bias (Kool, van Hoof and
    Welling 2019).

    Args:
      values: a pytree of arrays, with the draws along the leading dimension.
      log_densities: the logarithms of the densities of the draws, of shape ``(count,)``.
      group: the number of draws in a group. The draws of a group depend on each other. With ``m =
        count / group`` groups, group ``i`` has the draws ``i``, ``i + m``, ``i + 2 * m`` and so on.
        The baseline of a group is the mean over the other groups.
    """
    ratios = lax.exp(lax.sub(log_densities, lax.stop_gradient(log_densities)))

    def weighted(leaf: Any) -> Any:
        leaf = lax.convert_element_type(leaf, _float_dtype(leaf, ratios))
        factors = lax.convert_element_type(ratios, leaf.dtype)
        factors = lax.broadcast_in_dim(factors, leaf.shape, (0,))
        # The factor is one, so the baseline changes derivatives only.
        changes = lax.sub(factors, lax.full_like(factors, 1))
        fixed = lax.stop_gradient(leaf)
        return lax.sub(lax.mul(leaf, factors), lax.mul(_baseline(fixed, group), changes))

    return mean(pytrees.tree_map(weighted, values))


def _float_dtype(leaf: Any, ratios: Any) -> Any:
    return leaf.dtype if dtypes.issubdtype(leaf.dtype, np.inexact) else ratios.dtype


def _baseline(leaf: Any, group: int) -> Any:
    """Returns for each draw the mean of the values of the draws outside its group."""
    count = leaf.shape[0]
    if count == group:
        return lax.full_like(leaf, 0)
    grouped = lax.reshape(leaf, (group, count // group, *leaf.shape[1:]))
    own = lax.broadcast_in_dim(
        lax.reduce_sum(grouped, (0,)), grouped.shape, tuple(range(1, grouped.ndim))
    )
    own = lax.reshape(own, leaf.shape)
    total = lax.broadcast_in_dim(lax.reduce_sum(leaf, (0,)), leaf.shape, tuple(range(1, leaf.ndim)))
    others = lax.sub(total, own)
    return lax.div(others, lax.full_like(others, count - group))
