# SPDX-License-Identifier: Apache-2.0
"""Normalization of rows by the roots of their mean squares."""

from __future__ import annotations

from typing import Any

from olympus_autodiff import custom_vjp
from olympus_ir.programs.jit import jit

from . import normalization

__all__ = ["rms_norm", "rms_norm_reference"]

_OPTIONS = ("num_warps", "num_stages", "eps", "backward_pass_impl", "interpret")


def _forward(x: Any, weight: Any, bias: Any, *options: Any) -> tuple[Any, Any]:
    return normalization.forward(x, weight, bias, False, options)


def _backward(*args: Any) -> Any:
    *options, kept, cotangent = args
    return normalization.backward(False, tuple(options), kept, cotangent)


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

    Args:
      x: the array; rows lie along its last dimension.
      weight: a vector by which rows are multiplied then.
      bias: a vector that is added to them then.
      num_warps: how many warps work on a block.
      num_stages: how many steps of loops are under way.
      eps: what is added to the mean square.
      backward_pass_impl: whether the backward pass is a kernel ("triton") or array operations
        ("xla").
      interpret: whether the kernels are run as array operations.

    Returns:
      An array of the shape and dtype of ``x``; it is computed in single precision.

    Example:
      >>> import numpy as np
      >>> x, ones = np.float32([[2, 2]]), np.ones(2, np.float32)
      >>> float(rms_norm(x, ones, 0 * ones, eps=0.0, interpret=True)[0, 1] ** 2)
      1.0
    """
    options = (num_warps, num_stages, eps, backward_pass_impl, interpret)
    return _forward(x, weight, bias, *options)[0]


_differentiable = custom_vjp(_rms_norm, nondiff_argnums=(3, 4, 5, 6, 7))
_differentiable.defvjp(_forward, _backward)
rms_norm = jit(_differentiable, static_argnames=_OPTIONS)


def rms_norm_reference(x: Any, weight: Any, bias: Any, *, eps: float = 1e-5) -> Any:
    """The same by array operations, for comparison."""
    return normalization.reference(x, weight, bias, eps, False)
