# SPDX-License-Identifier: Apache-2.0
"""Constraints on the memory space of operands: `with_memory_space_constraint`."""

from __future__ import annotations

from typing import Any

from olympus_autodiff.tables import jvp_rules, transpose_rules
from olympus_batching.tables import batching_rules
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.primitives import Primitive
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray

from .spaces import MemorySpace, TpuMemorySpace

__all__ = ["with_memory_space_constraint", "with_memory_space_constraint_p"]

with_memory_space_constraint_p = Primitive("with_memory_space_constraint")


@with_memory_space_constraint_p.def_abstract_eval
def _type(x: ShapedArray, *, memory_space: Any) -> ShapedArray:
    return x.update(memory_space=memory_space)


expansion_rules.define(with_memory_space_constraint_p, lambda x, *, memory_space: x)


@jvp_rules.define(with_memory_space_constraint_p)
def _jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    bind = with_memory_space_constraint_p.bind
    return bind(primals[0], **params), bind(tangents[0], **params)


@transpose_rules.define(with_memory_space_constraint_p)
def _transpose(cotangent: Any, x: Any, **params: Any) -> Any:
    return [with_memory_space_constraint_p.bind(cotangent, **params)]


@batching_rules.define(with_memory_space_constraint_p)
def _batched(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
    return with_memory_space_constraint_p.bind(args[0], **params), batch_dims[0]


def with_memory_space_constraint(x: ArrayLike, memory_space: MemorySpace | TpuMemorySpace) -> Array:
    """Constrains the memory space in which a kernel finds an operand.

    Args:
      x: the array.
      memory_space: a memory of a TPU, such as ``tpu.HBM``.

    Returns:
      An array of the shape and dtype of ``x``, with the memory space in its type.

    Raises:
      TypeError: if ``memory_space`` is not a memory.

    Example:
      >>> import numpy as np
      >>> with_memory_space_constraint(np.ones(2, np.float32), TpuMemorySpace.HBM)
      Array([1., 1.], dtype=float32)
    """
    if not isinstance(memory_space, MemorySpace | TpuMemorySpace):
        raise TypeError(
            f"`memory_space` must be a memory of a TPU, such as tpu.HBM, got {memory_space!r}"
        )
    return with_memory_space_constraint_p.bind(x, memory_space=memory_space)
