# SPDX-License-Identifier: Apache-2.0
"""Contractions: products of elements of two arrays, summed over dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...diagnostics.errors import ShapeError
from ...loading import deferred
from ...programs.primitives import instruction
from ...settings import config
from ...types import dtypes
from ...types.annotations import DTypeLike, ShardingLike
from ...types.avals import ShapedArray, get_aval
from ...types.resharding import asked_sharding
from ..core.declarations import check_dtype, result_weak_type
from ..core.values import Array, ArrayLike, shape_of
from .precision import Precision, precision_names

if TYPE_CHECKING:
    from . import dot_algorithms
    from .dot_algorithms import CanonicalPrecision, PrecisionLike
else:
    dot_algorithms = deferred(".dot_algorithms", milliseconds=0.8)

__all__ = [
    "DotDimensionNumbers",
    "Precision",
    "batch_matmul",
    "canonicalize_precision",
    "check_accumulator",
    "dot",
    "dot_general",
    "dot_general_p",
    "product_dtype",
]


DotDimensionNumbers: TypeAlias = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]


def canonicalize_precision(precision: PrecisionLike) -> CanonicalPrecision:
    """Converts a user's precision to the parameter of an equation.

    None means the configured default, which may itself be None.

    Raises:
      ValueError: if ``precision`` is not a legal value.

    Example:
      >>> canonicalize_precision("high")
      (Precision.HIGH, Precision.HIGH)
    """
    if precision is None:
        precision = config.default_matmul_precision.value
        if precision is None:
            return None
    if isinstance(precision, Precision):
        return (precision, precision)
    if isinstance(precision, str) and precision in precision_names:
        return (Precision(precision), Precision(precision))
    if isinstance(precision, dot_algorithms.DotAlgorithm | dot_algorithms.DotAlgorithmPreset):
        return precision
    if isinstance(precision, str):
        if precision in dot_algorithms.DotAlgorithmPreset.__members__:
            return dot_algorithms.DotAlgorithmPreset[precision]
    elif isinstance(precision, list | tuple) and len(precision) == 2:
        try:
            return (Precision(precision[0]), Precision(precision[1]))
        except (ValueError, TypeError):  # TypeError for values that are not hashable
            pass
    names = [name for name in precision_names if name is not None]
    raise ValueError(
        f"Precision argument must be one of: None, a string in {names}, a lax.Precision value, a "
        "tuple of two of these, a lax.DotAlgorithmPreset or the name of one, or a "
        f"lax.DotAlgorithm; but got {precision!r}."
    )


dot_general_p = instruction("dot_general", family="contractions")
dot_general_p.linear_in = (0, 1)  # bilinear: linear in each operand for a fixed other operand


@dot_general_p.def_abstract_eval
def _dot_general_shape(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any,
) -> ShapedArray:
    for operand in (lhs, rhs):
        check_dtype("dot_general", operand, (np.number, np.bool_))
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    _check_dimension_numbers("lhs", lhs, lhs_contracting, lhs_batch)
    _check_dimension_numbers("rhs", rhs, rhs_contracting, rhs_batch)
    for kind, lhs_dims, rhs_dims in (
        ("batch dimensions", lhs_batch, rhs_batch),
        ("contracting dimensions", lhs_contracting, rhs_contracting),
    ):
        lhs_sizes = tuple(lhs.shape[dimension] for dimension in lhs_dims)
        rhs_sizes = tuple(rhs.shape[dimension] for dimension in rhs_dims)
        if lhs_sizes != rhs_sizes:
            raise ShapeError(
                f"dot_general requires {kind} to have the same shape, got "
                f"{lhs_sizes} and {rhs_sizes} (lhs {lhs.str_short(short_dtypes=True)}, rhs "
                f"{rhs.str_short(short_dtypes=True)}, {kind} {lhs_dims} and {rhs_dims})."
            )
    shape = (
        *(lhs.shape[dimension] for dimension in lhs_batch),
        *_free_sizes(lhs, lhs_contracting, lhs_batch),
        *_free_sizes(rhs, rhs_contracting, rhs_batch),
    )
    dtype, weak_type = product_dtype(lhs.dtype, rhs.dtype), result_weak_type((lhs, rhs))
    if preferred_element_type is not None:
        check_accumulator(dtype, preferred_element_type)
        dtype = preferred_element_type
    return ShapedArray.varying(shape, dtype, weak_type, vma=lhs.vma | rhs.vma)


def check_accumulator(dtype: Any, preferred: Any) -> None:
    """Raises TypeError if integers or complex numbers would be summed in fewer bits."""
    if not dtypes.issubdtype(dtype, np.floating) and _bits(preferred) < _bits(dtype):
        raise TypeError(
            "`preferred_element_type` must not be narrower than the original type, got "
            f"preferred_element_type of {dtypes.name_of(preferred)} for result type of "
            f"{dtypes.name_of(dtype)}."
        )


def _bits(dtype: Any) -> int:
    """Returns the bits of a number, or of the real part of a complex number."""
    if dtype == np.bool_:
        return 1
    parts = 2 if dtypes.issubdtype(dtype, np.complexfloating) else 1
    return dtypes.itemsize_bits(dtype) // parts


def _check_dimension_numbers(
    side: str, operand: ShapedArray, contracting: Sequence[int], batch: Sequence[int]
) -> None:
    if not all(0 <= dimension < operand.ndim for dimension in (*contracting, *batch)):
        raise ShapeError(
            f"dot_general requires {side} dimension numbers to be nonnegative and less than the "
            f"number of axes of the {side} value, got {side}_batch of {batch} and "
            f"{side}_contracting of {contracting} for {side} of rank {operand.ndim}"
        )
    for kind, dimensions in (("batch", batch), ("contracting", contracting)):
        if len(set(dimensions)) != len(dimensions):
            raise ShapeError(
                f"dot_general requires {side} {kind} dimensions to be distinct, got "
                f"{side}_{kind} {dimensions}."
            )
    if set(batch) & set(contracting):
        raise ShapeError(
            f"dot_general requires {side} batch dimensions to be disjoint from contracting "
            f"dimensions, got {side}_batch {batch} and {side}_contracting {contracting}."
        )


def _free_sizes(
    operand: ShapedArray, contracting: Sequence[int], batch: Sequence[int]
) -> list[int]:
    used = {*contracting, *batch}
    return [size for dimension, size in enumerate(operand.shape) if dimension not in used]


def product_dtype(lhs: DTypeLike, rhs: DTypeLike) -> Any:
    """Returns the dtype of sums of products, which is the dtype of one of the operands.

    XLA orders dtypes: booleans, integers, floats, complex numbers; within a kind by width. The sums
    have the later of the two dtypes.

    Example:
      >>> product_dtype(np.dtype("int32"), np.dtype("float16"))
      dtype('float16')
    """
    return lhs if lhs == rhs else max(lhs, rhs, key=_dtype_order)


def _dtype_order(dtype: Any) -> tuple:
    for rank, kind in enumerate(
        (np.bool_, np.unsignedinteger, np.signedinteger, np.floating, np.complexfloating)
    ):
        if dtypes.issubdtype(dtype, kind):
            integer = rank in (1, 2)
            bits = dtypes.itemsize_bits(dtype)
            # Integers are ordered by width; floats of equal width by range.
            if integer:
                return (1, bits, rank)
            return (rank, bits, dtypes.finfo(dtype).maxexp if rank == 3 else 0)
    raise TypeError(f"dot_general does not accept dtype {dtypes.name_of(dtype)}")


def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers | None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Sums products of the elements of two arrays over given dimensions.

    Args:
      lhs: an array.
      rhs: an array.
      dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``, the
        dimensions that are summed over, and the batch dimensions, which are paired and kept. None
        means the default of `dot`.
      precision: the precision on accelerators: one value, or one for each operand.
      preferred_element_type: the dtype of sums and of the result.
      out_sharding: the sharding of the result.

    Returns:
      An array with the batch dimensions first, then the remaining dimensions of ``lhs``, then those
      of ``rhs``.

    Raises:
      TypeError: if dimension numbers are out of range, repeated or overlapping, if paired
        dimensions differ in size, or if dtypes are not accepted.
      ValueError: if ``precision`` is not a legal value.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> x = np.arange(6.0).reshape(2, 3)
      >>> lax.dot_general(x, x, (((1,), (1,)), ((0,), (0,))))
      Array([ 5., 50.], dtype=float32)
    """
    numbers: Any = dimension_numbers
    try:
        (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers
        dimension_numbers = (
            (tuple(map(int, lhs_contracting)), tuple(map(int, rhs_contracting))),
            (tuple(map(int, lhs_batch)), tuple(map(int, rhs_batch))),
        )
    except (TypeError, ValueError) as error:
        dot_general_p.refuse_references((get_aval(lhs), get_aval(rhs)))
        if dimension_numbers is None:
            return dot(
                lhs,
                rhs,
                precision=precision,
                preferred_element_type=preferred_element_type,
                out_sharding=out_sharding,
            )
        raise type(error)(
            "dot_general: dimension_numbers must be ((lhs_contracting, rhs_contracting), "
            f"(lhs_batch, rhs_batch)), got {dimension_numbers}"
        ) from None
    if preferred_element_type is not None:
        preferred_element_type = dtypes.check_and_canonicalize_user_dtype(
            preferred_element_type, "dot_general"
        )
    return dot_general_p.bind(
        lhs,
        rhs,
        dimension_numbers=dimension_numbers,
        precision=canonicalize_precision(precision),
        preferred_element_type=preferred_element_type,
        out_sharding=asked_sharding(out_sharding, "dot_general"),
    )


def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Multiplies vectors or matrices, or contracts the dimensions in ``dimension_numbers``.

    Args:
      lhs: a vector or matrix.
      rhs: a vector or matrix.
      dimension_numbers: as in `dot_general`; by default the last dimension of ``lhs`` and the
        first of ``rhs`` are summed over.
      precision: as in `dot_general`.
      preferred_element_type: as in `dot_general`.
      out_sharding: as in `dot_general`.

    Returns:
      An array; a scalar for two vectors.

    Raises:
      ValueError: if ``dimension_numbers`` are not given and the operands are not vectors or
        matrices of matching sizes.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.dot(np.ones((2, 3)), np.arange(3.0))
      Array([3., 3.], dtype=float32)
    """
    if dimension_numbers is None:
        lhs_shape, rhs_shape = shape_of(lhs), shape_of(rhs)
        if not (
            1 <= len(lhs_shape) <= 2 and 1 <= len(rhs_shape) <= 2 and lhs_shape[-1] == rhs_shape[0]
        ):
            raise ValueError(
                "lax.dot: dimension_numbers must be specified when not performing simple "
                "un-batched matrix-matrix, matrix-vector, or vector-vector products; got "
                f"lhs_shape={lhs_shape} rhs_shape={rhs_shape}"
            )
        dimension_numbers = (((len(lhs_shape) - 1,), (0,)), ((), ()))
    return dot_general(
        lhs,
        rhs,
        dimension_numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """Multiplies matrices in the last two dimensions; leading dimensions are batch dimensions.

    Args:
      lhs: an array of shape ``(*batch, m, k)``.
      rhs: an array of shape ``(*batch, k, n)``.
      precision: as in `dot_general`.

    Returns:
      An array of shape ``(*batch, m, n)``.

    Raises:
      ValueError: if the operands differ in rank or have fewer than two dimensions.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.batch_matmul(np.ones((4, 2, 3)), np.ones((4, 3, 5))).shape
      (4, 2, 5)
    """
    lhs_shape, rhs_shape = shape_of(lhs), shape_of(rhs)
    ndim = len(lhs_shape)
    for requirement, is_so in (
        ("be at least 2D", min(ndim, len(rhs_shape)) >= 2),
        ("have same ndim", ndim == len(rhs_shape)),
    ):
        if not is_so:
            raise ValueError(
                f"Arguments to batch_matmul must {requirement}, got shapes {lhs_shape} and "
                f"{rhs_shape}"
            )
    batch = tuple(range(ndim - 2))
    return dot_general(lhs, rhs, (((ndim - 1,), (ndim - 2,)), (batch, batch)), precision=precision)
