# SPDX-License-Identifier: Apache-2.0
"""Expectations over draws, differentiable with respect to the parameters of the sampler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes

from ..keys.functions import split
from .scores import check_samples, mean, score_mean

__all__ = ["Expectation", "pathwise", "score_function"]

# Function from a key and parameters to a draw, an array or a pytree of arrays.
Sampler = Callable[..., Any]


class Expectation(Protocol):
    """Type of an estimator ``expectation(key, f, *parameters)`` of the mean of ``f(draw)``."""

    def __call__(self, key: Any, f: Callable[[Any], Any], /, *parameters: Any) -> Any: ...


def score_function(
    sampler: Sampler, log_prob: Callable[..., Any], *, samples: int = 1000
) -> Expectation:
    """Makes an estimator of expectations whose derivatives use the score of the draws.

    The draws may be integers or booleans, and ``f`` need not be differentiable. The derivative is
    the mean of ``f(draw)`` times the derivative of ``log_prob``: the score-function estimator, or
    REINFORCE (Williams 1992; Mohamed and others 2020), with the mean of the other draws as baseline
    (Kool, van Hoof and Welling 2019). Derivatives are unbiased in forward and in reverse mode and
    for any order (Foerster and others 2018). Parameters that ``f`` itself closes over are
    differentiated, too.

    Args:
      sampler: ``sampler(key, *parameters)`` gives one draw, an array or a pytree of arrays.
      log_prob: ``log_prob(draw, *parameters)`` gives the logarithm of the probability or the
        density of a draw, a scalar.
      samples: the number of draws. The standard error is proportional to ``1 / sqrt(samples)``.

    Returns:
      A function ``expectation(key, f, *parameters)`` that estimates the mean of ``f(draw)``; the
      result has the structure of the result of ``f``.

    Raises:
      ValueError: ``samples`` is not positive, or, in a call, ``log_prob`` gives no scalar.

    Example:
      >>> from olympus_autodiff import grad
      >>> from olympus_ir import lax
      >>> from olympus_random import bernoulli, key
      >>> def log_prob(heads, p):
      ...     return lax.log(lax.select(heads, p, 1 - p))
      >>> expectation = score_function(bernoulli, log_prob, samples=10_000)
      >>> def mean_payout(p):  # a payout of 3 for heads
      ...     return expectation(key(0), lambda heads: 3 * heads.astype(int), p)
      >>> round(float(grad(mean_payout)(0.3)), 1)
      3.0
    """
    check_samples(samples)

    def expectation(key: Any, f: Callable[[Any], Any], /, *parameters: Any) -> Any:
        draws = vmap(lambda sample_key: sampler(sample_key, *parameters))(split(key, samples))
        draws = pytrees.tree_map(lax.stop_gradient, draws)
        log_densities = vmap(lambda draw: log_prob(draw, *parameters))(draws)
        if np.shape(log_densities) != (samples,):
            raise ValueError(
                "`log_prob` must return a scalar for one draw, got an array of shape "
                f"{np.shape(log_densities)[1:]}. For independent elements, return the sum of their "
                "logarithms: lambda draw, *parameters: log_prob(draw, *parameters).sum()"
            )
        return score_mean(vmap(f)(draws), log_densities)

    return expectation


def pathwise(sampler: Sampler, *, samples: int = 1000) -> Expectation:
    """Makes an estimator of expectations whose derivatives go through the draws.

    This is the pathwise estimator, or the reparametrization trick (Kingma and Welling 2014; Mohamed
    and others 2020). Its variance is usually below that of `score_function`. The sampler must be
    differentiable with respect to its parameters, as ``mean + scale * normal(key)`` and
    ``gamma(key, a)`` are. ``f`` must be differentiable, too. For discrete draws, use
    `score_function`, or relax the draws by `gumbel_softmax`.

    Args:
      sampler: ``sampler(key, *parameters)`` gives one draw, an array or a pytree of arrays.
      samples: the number of draws. The standard error is proportional to ``1 / sqrt(samples)``.

    Returns:
      A function ``expectation(key, f, *parameters)`` that estimates the mean of ``f(draw)``; the
      result has the structure of the result of ``f``.

    Raises:
      ValueError: ``samples`` is not positive.
      TypeError: in a call, the draws are integers or booleans.

    Example:
      >>> from olympus_autodiff import grad
      >>> from olympus_random import key, normal
      >>> expectation = pathwise(lambda key, m: m + normal(key), samples=10_000)
      >>> slope = grad(lambda m: expectation(key(0), lambda x: x * x, m))(1.0)  # of 1 + m**2
      >>> round(float(slope), 1)
      2.0
    """
    check_samples(samples)

    def expectation(key: Any, f: Callable[[Any], Any], /, *parameters: Any) -> Any:
        draws = vmap(lambda sample_key: sampler(sample_key, *parameters))(split(key, samples))
        for leaf in pytrees.tree_leaves(draws):
            if not dtypes.issubdtype(leaf.dtype, np.inexact):
                raise TypeError(
                    f"pathwise needs draws of a float or complex dtype, got {leaf.dtype}: discrete "
                    "draws have no derivative by parameters. Use "
                    "score_function(sampler, log_prob), or draw by gumbel_softmax"
                )
        return mean(vmap(f)(draws))

    return expectation
