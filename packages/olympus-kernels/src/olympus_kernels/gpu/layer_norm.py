# SPDX-License-Identifier: Apache-2.0
"""Layer normalization: rows with mean 0 and variance 1."""

from __future__ import annotations

from typing import Any

from .normalization import Options, differentiable, forward, reference

__all__ = ["layer_norm", "layer_norm_reference"]


def _layer_norm(
    x: Any,
    weight: Any,
    bias: Any,
    num_warps: int | None = None,
    num_stages: int | None = 3,
    eps: float = 1e-5,
    backward_pass_impl: str = "triton",
    interpret: bool = False,
) -> Any:
    """Normalizes the rows of an array to mean 0 and standard deviation 1.

    The algorithm is by J. L. Ba et al., "Layer Normalization", 2016.

    Args:
      x: the array; rows lie along its last dimension.
      weight: a vector by which the normalized rows are multiplied.
      bias: a vector that is added to the weighted rows.
      num_warps: the number of warps that work on a block.
      num_stages: the number of steps of a loop that are pipelined.
      eps: a number that is added to the variance.
      backward_pass_impl: whether the backward pass is a kernel ("triton") or array operations
        ("xla").
      interpret: whether the kernels are run as array operations.

    Returns:
      An array of the shape and dtype of ``x``, computed in single precision.

    Raises:
      ValueError: ``backward_pass_impl`` is unknown. The error is raised when the derivative is
        taken.

    Example:
      >>> import numpy as np
      >>> x, ones = np.float32([[1, 3]]), np.ones(2, np.float32)
      >>> layer_norm(x, ones, 0 * ones, interpret=True).round(1)[0]
      Array([-1.,  1.], dtype=float32)
    """
    options = Options(num_warps, num_stages, eps, backward_pass_impl, interpret)
    return forward(x, weight, bias, True, options)[0]


layer_norm = differentiable(_layer_norm, centered=True)


def layer_norm_reference(x: Any, weight: Any, bias: Any, *, eps: float = 1e-5) -> Any:
    """Computes `layer_norm` by array operations, for comparison."""
    return reference(x, weight, bias, eps, True)
