# SPDX-License-Identifier: Apache-2.0
"""Normalization of rows by the roots of their mean squares."""

from __future__ import annotations

from typing import Any

from .normalization import Options, differentiable, forward, reference

__all__ = ["rms_norm", "rms_norm_reference"]


def _rms_norm(
    x: Any,
    weight: Any,
    bias: Any,
    num_warps: int | None = None,
    num_stages: int | None = 3,
    eps: float = 1e-5,
    backward_pass_impl: str = "triton",
    interpret: bool = False,
) -> Any:
    """Divides the rows of an array by the roots of their mean squares.

    The algorithm is by B. Zhang and R. Sennrich, "Root Mean Square Layer Normalization", 2019.

    Args:
      x: the array; rows lie along its last dimension.
      weight: a vector by which the normalized rows are multiplied.
      bias: a vector that is added to the weighted rows.
      num_warps: the number of warps that work on a block.
      num_stages: the number of steps of a loop that are pipelined.
      eps: a number that is added to the mean square.
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
      >>> x, ones = np.float32([[2, 2]]), np.ones(2, np.float32)
      >>> float(rms_norm(x, ones, 0 * ones, eps=0.0, interpret=True)[0, 1] ** 2)
      1.0
    """
    options = Options(num_warps, num_stages, eps, backward_pass_impl, interpret)
    return forward(x, weight, bias, False, options)[0]


rms_norm = differentiable(_rms_norm, centered=False)


def rms_norm_reference(x: Any, weight: Any, bias: Any, *, eps: float = 1e-5) -> Any:
    """Computes `rms_norm` by array operations, for comparison."""
    return reference(x, weight, bias, eps, False)
