# SPDX-License-Identifier: Apache-2.0
"""Basic operations on matrices, which are the last two dimensions of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...diagnostics.errors import ShapeError
from ...types import dtypes
from ..contractions.products import Precision, dot_general
from ..core.values import Array, array_aval, typed_scalar
from ..elementwise.arithmetic import add, conj, div
from ..elementwise.conversion import convert_dtype
from ..elementwise.logic import eq, ge, select_n
from ..indexing.gathering import GatherDimensionNumbers, GatherScatterMode, gather
from ..shaping.broadcasting import broadcast_in_dim, expand_dims
from ..shaping.creation import broadcasted_iota
from ..shaping.rearrangement import transpose

__all__ = [
    "adjoint",
    "eye",
    "identity_like",
    "is_complex",
    "matmul",
    "permute_rows",
    "swap_last",
    "symmetrize",
    "tril",
    "triu",
    "zeros",
]


def is_complex(x: Any) -> bool:
    """Returns whether the elements are complex numbers."""
    return dtypes.issubdtype(array_aval(x).dtype, np.complexfloating)


def zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    """Returns an array of zeros."""
    return broadcast_in_dim(np.zeros((), dtype), shape, ())


def swap_last(x: Any) -> Array:
    """Returns the transposes of matrices."""
    ndim = array_aval(x).ndim
    return transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def adjoint(x: Any) -> Array:
    """Returns the conjugate transposes of matrices."""
    x = swap_last(x)
    return conj(x) if is_complex(x) else x


def symmetrize(name: str, x: Any) -> Array:
    """Returns the Hermitian parts of matrices; integers become floats."""
    shape = array_aval(x).shape
    if len(shape) < 2:
        raise ShapeError(f"Input 0 to {name} must have rank at least 2, but got shape={shape}")
    if shape[-1] != shape[-2]:
        raise ShapeError(f"The input to {name} must be a square matrix. Got shape {shape}.")
    aval = array_aval(x)
    dtype = dtypes.to_inexact_dtype(aval.dtype)
    x = convert_dtype(x, dtype, aval.weak_type)
    return div(add(x, adjoint(x)), typed_scalar(2, dtype, aval.weak_type))


def matmul(x: Any, y: Any) -> Array:
    """Multiplies matrices with equal batch dimensions, in the operands' full precision."""
    ndim = array_aval(x).ndim
    batch = tuple(range(ndim - 2))
    return dot_general(
        x, y, (((ndim - 1,), (ndim - 2,)), (batch, batch)), precision=Precision.HIGHEST
    )


def _on_or_below(shape: tuple[int, ...], diagonal: int) -> Array:
    dtype = dtypes.default_int_dtype()
    rows = add(broadcasted_iota(dtype, shape, 0), np.array(diagonal, dtype))
    return ge(rows, broadcasted_iota(dtype, shape, 1))


def _mask_like(x: Any, diagonal: int) -> Array:
    shape = array_aval(x).shape
    mask = _on_or_below(shape[-2:], diagonal)
    if len(shape) > 2:
        mask = broadcast_in_dim(mask, shape, (len(shape) - 2, len(shape) - 1))
    return mask


def tril(x: Any, diagonal: int = 0) -> Array:
    """Returns the lower triangles of matrices: elements above a diagonal become zero."""
    return select_n(_mask_like(x, diagonal), _zeros_like(x), x)


def triu(x: Any, diagonal: int = 0) -> Array:
    """Returns the upper triangles of matrices: elements below a diagonal become zero."""
    return select_n(_mask_like(x, diagonal - 1), x, _zeros_like(x))


def _zeros_like(x: Any) -> Array:
    aval = array_aval(x)
    return convert_dtype(zeros(aval.shape, aval.dtype), aval.dtype, aval.weak_type)


def eye(size: int, dtype: Any, columns: int | None = None) -> Array:
    """Returns an identity matrix of ``size`` rows; ``columns`` is ``size`` if not given."""
    shape = (size, size if columns is None else columns)
    rows = broadcasted_iota(np.int32, shape, 0)
    return convert_dtype(eq(rows, broadcasted_iota(np.int32, shape, 1)), dtype)


def identity_like(x: Any) -> Array:
    """Returns identity matrices with the shape and dtype of ``x``."""
    aval = array_aval(x)
    identity = eye(aval.shape[-2], aval.dtype, aval.shape[-1])
    return broadcast_in_dim(identity, aval.shape, (aval.ndim - 2, aval.ndim - 1))


def permute_rows(x: Any, permutation: Any) -> Array:
    """Permutes the rows of matrices."""
    shape = array_aval(x).shape
    batch = tuple(range(len(shape) - 2))
    numbers = GatherDimensionNumbers(
        offset_dims=(len(shape) - 1,),
        collapsed_slice_dims=(len(shape) - 2,),
        start_index_map=(len(shape) - 2,),
        operand_batching_dims=batch,
        start_indices_batching_dims=batch,
    )
    return gather(
        x,
        expand_dims(permutation, (len(shape) - 1,)),
        numbers,
        (*(1,) * (len(shape) - 1), shape[-1]),
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
    )
