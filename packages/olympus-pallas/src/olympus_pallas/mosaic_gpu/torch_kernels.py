# SPDX-License-Identifier: Apache-2.0
"""Kernels as functions of PyTorch's tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import olympus_numpy as jnp
from olympus_ir.loading import deferred
from olympus_ir.trees import pytrees

# PyTorch is optional: it is imported when a kernel is called.
torch = deferred("torch", milliseconds=1500)

__all__ = ["as_torch_kernel"]


def as_torch_kernel(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a kernel callable with PyTorch's tensors.

    Args:
      fn: a function of arrays that calls a kernel.

    Returns:
      A function that takes pytrees of tensors and returns tensors, on the device of the first
      tensor. Contiguous tensors on the CPU are not copied.

    Raises:
      TypeError: an argument is not a tensor.
      ImportError: PyTorch is not installed.
    """

    def call(*args: Any) -> Any:
        leaves, tree = pytrees.tree_flatten(args)
        for leaf in leaves:
            if not isinstance(leaf, torch.Tensor):
                raise TypeError(
                    f"a kernel made by as_torch_kernel takes tensors of PyTorch, got {leaf!r} of "
                    f"type {type(leaf).__name__}"
                )
        device = leaves[0].device if leaves else torch.device("cpu")
        arrays = [jnp.from_dlpack(leaf.detach().cpu().contiguous()) for leaf in leaves]
        results = fn(*pytrees.tree_unflatten(tree, arrays))
        return pytrees.tree_map(lambda result: torch.from_dlpack(result).to(device), results)

    return call
