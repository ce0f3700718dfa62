# SPDX-License-Identifier: Apache-2.0
"""Products of vectors, matrices and tensors.

Sums are accumulated in the operands' common dtype unless ``preferred_element_type`` is given;
``precision`` is that of `olympus.lax.dot_general`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval
from olympus_ir.types.resharding import asked_sharding

from ..arrays.shaping import moveaxis
from ..core.axes import canonical_axis, hashable_axis, refuse_out
from ..core.compilation import compiled, inlined, outlined
from ..core.promotion import (
    check_arraylike,
    check_ranks,
    convert,
    ensure_array,
    promote_dtypes,
    result_type_of,
)
from ..elementwise.arithmetic import multiply

if TYPE_CHECKING:
    from olympus_ir.lax.contractions.dot_algorithms import PrecisionLike

__all__ = [
    "cross",
    "dot",
    "inner",
    "kron",
    "matmul",
    "matvec",
    "outer",
    "tensordot",
    "vdot",
    "vecdot",
    "vecmat",
]

_STATIC = ("precision", "preferred_element_type", "out_sharding")


def _element_type(function: str, preferred: Any, *arrays: Any) -> tuple[Any, bool]:
    """Returns the dtype of a product and whether it is weak."""
    if preferred is None:
        first, second = (array.dtype for array in arrays)
        if first is second and not any(getattr(array, "weak_type", False) for array in arrays):
            return first, False
        return result_type_of(*arrays)
    return dtypes.check_and_canonicalize_user_dtype(preferred, function), False


def contract(
    a: Any,
    b: Any,
    dimension_numbers: Any,
    precision: Any,
    element_type: tuple[Any, bool],
    out_sharding: ShardingLike = None,
) -> Any:
    """Calls `lax.dot_general`; ``element_type`` is a dtype and whether the dtype is weak."""
    dtype, weak_type = element_type
    result = lax.dot_general_p.bind(
        a,
        b,
        dimension_numbers=dimension_numbers,
        precision=lax.canonicalize_precision(precision),
        preferred_element_type=dtype,
        out_sharding=asked_sharding(out_sharding, "dot_general"),
    )
    return convert(result, dtype, weak_type)


@inlined(*_STATIC)
def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns the product over the last dimension of ``a`` and the second last of ``b``.

    For two vectors this is the inner product, for two matrices the matrix product; for other
    arrays, the result has all remaining dimensions of ``a`` and then those of ``b``. A scalar
    multiplies the other operand.

    Args:
      a: an array.
      b: an array.
      precision: the precision of products on accelerators.
      preferred_element_type: the dtype of the accumulation and of the result.
      out_sharding: the sharding of the result.

    Returns:
      An array of the common dtype, unless ``preferred_element_type`` is given.

    Example:
      >>> from olympus_numpy import array
      >>> dot(array([1, 2]), array([3, 4]))
      Array(11, dtype=int32)
    """
    check_arraylike("dot", a, b)
    a, b = ensure_array(a), ensure_array(b)
    element_type = _element_type("dot", preferred_element_type, a, b)
    if a.ndim == 0 or b.ndim == 0:
        contracting: Any = ((), ())
    elif b.ndim == 1:
        contracting = ((a.ndim - 1,), (0,))
    else:
        contracting = ((a.ndim - 1,), (b.ndim - 2,))
    return contract(a, b, (contracting, ((), ())), precision, element_type, out_sharding)


@inlined(*_STATIC)
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns the matrix product of two arrays.

    The last two dimensions are those of matrices. The other dimensions are broadcast. A vector is a
    row on the left and a column on the right.

    Args:
      a: an array of at least one dimension.
      b: an array of at least one dimension.
      precision: the precision of products on accelerators.
      preferred_element_type: the dtype of the accumulation and of the result.
      out_sharding: the sharding of the result.

    Returns:
      An array of the common dtype, unless ``preferred_element_type`` is given. Its dimensions are
      the broadcast leading dimensions, the rows of ``a`` and the columns of ``b``. A vector has
      neither rows nor columns.

    Raises:
      ValueError: if an operand has no dimensions.

    Example:
      >>> from olympus_numpy import array
      >>> matmul(array([[1, 2], [3, 4]]), array([1, 1]))
      Array([3, 7], dtype=int32)
    """
    check_arraylike("matmul", a, b)
    a, b = ensure_array(a), ensure_array(b)
    for position, operand in enumerate((a, b)):
        if operand.ndim < 1:
            raise ValueError(
                f"matmul input operand {position} must have ndim at least 1, but it has ndim "
                f"{operand.ndim}"
            )
    element_type = _element_type("matmul", preferred_element_type, a, b)
    return _matrix_product(a, b, precision, element_type, out_sharding)


def _matrix_product(
    a: Any,
    b: Any,
    precision: Any,
    element_type: tuple[Any, bool],
    out_sharding: ShardingLike = None,
) -> Any:
    """Multiplies stacks of matrices; batch sizes of one are dropped, not broadcast."""
    a_is_vector, b_is_vector = a.ndim == 1, b.ndim == 1
    a_batch = () if a_is_vector else a.shape[:-2]
    b_batch = () if b_is_vector else b.shape[:-2]
    rank = max(len(a_batch), len(b_batch))
    a_batch = (None,) * (rank - len(a_batch)) + a_batch
    b_batch = (None,) * (rank - len(b_batch)) + b_batch
    # The operand from which each batch dimension of the result comes.
    origins: list[str] = []
    a_dropped, b_dropped = [], []
    a_batch_dims, b_batch_dims = [], []
    for position, (a_size, b_size) in enumerate(zip(a_batch, b_batch, strict=True)):
        a_dim = position - a_batch.count(None)
        b_dim = position - b_batch.count(None)
        if a_size is None:
            origins.append("b")
        elif b_size is None:
            origins.append("a")
        elif a_size == b_size:
            origins.append("both")
            a_batch_dims.append(a_dim)
            b_batch_dims.append(b_dim)
        elif a_size == 1:
            origins.append("b")
            a_dropped.append(a_dim)
        elif b_size == 1:
            origins.append("a")
            b_dropped.append(b_dim)
        else:
            raise ValueError(
                f"Incompatible types for matmul arguments: {get_aval(a).str_short()} and "
                f"{get_aval(b).str_short()}. Batch dimensions are equal, or one of them is 1."
            )
    a_batch_dims, a = _without(a, a_dropped, a_batch_dims)
    b_batch_dims, b = _without(b, b_dropped, b_batch_dims)
    result = contract(
        a,
        b,
        (
            ((a.ndim - 1,), (b.ndim - 1 if b_is_vector else b.ndim - 2,)),
            (tuple(a_batch_dims), tuple(b_batch_dims)),
        ),
        precision,
        element_type,
        out_sharding,
    )
    return _batch_first(result, origins, a_is_vector, b_is_vector)


def _without(x: Any, dropped: list[int], batch_dims: list[int]) -> tuple[list[int], Any]:
    if not dropped:
        return batch_dims, x
    renumbered = [dim - sum(other < dim for other in dropped) for dim in batch_dims]
    return renumbered, lax.squeeze(x, tuple(dropped))


def _batch_first(x: Any, origins: list[str], a_is_vector: bool, b_is_vector: bool) -> Any:
    """Transposes a product of matrices to [batch..., row, column].

    The product has the batch dimensions of both operands, those of the left one alone, the rows,
    the batch dimensions of the right one alone, and the columns. A vector has no rows or columns.

    Args:
      x: the product.
      origins: the operands that have each batch dimension: ``"a"``, ``"b"`` or ``"both"``.
      a_is_vector: whether the left operand is a vector.
      b_is_vector: whether the right operand is a vector.
    """
    a_count, both = origins.count("a"), origins.count("both")
    next_of = {"both": 0, "a": both, "b": both + a_count + (not a_is_vector)}
    order = []
    for origin in origins:
        order.append(next_of[origin])
        next_of[origin] += 1
    if not a_is_vector:
        order.append(both + a_count)
    if not b_is_vector:
        order.append(x.ndim - 1)
    return lax.transpose(x, tuple(order))


@inlined("precision", "preferred_element_type")
def vdot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Returns the inner product of two flattened arrays; the first one is conjugated.

    Args:
      a: an array.
      b: an array with as many elements as ``a``.
      precision: the precision of products on accelerators.
      preferred_element_type: the dtype of the accumulation and of the result.

    Returns:
      An array without dimensions, of the common dtype unless ``preferred_element_type`` is given.

    Example:
      >>> from olympus_numpy import array
      >>> vdot(array([1 + 2j]), array([1j]))
      Array(2.+1.j, dtype=complex64)
    """
    check_arraylike("vdot", a, b)
    a, b = ensure_array(a), ensure_array(b)
    if dtypes.issubdtype(a.dtype, np.complexfloating):
        a = lax.conj(a)
    element_type = _element_type("vdot", preferred_element_type, a, b)
    a, b = (lax.reshape(x, (math.prod(x.shape),)) for x in (a, b))
    return contract(a, b, (((0,), (0,)), ((), ())), precision, element_type)


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Returns inner products along one dimension; the first operand is conjugated.

    Args:
      x1: an array.
      x2: an array; all dimensions but the axis are broadcast.
      axis: the dimension in both arrays.
      precision: the precision of products on accelerators.
      preferred_element_type: the dtype of the accumulation and of the result.

    Returns:
      An array of the broadcast shape without the axis, of the common dtype unless
      ``preferred_element_type`` is given.

    Example:
      >>> from olympus_numpy import array
      >>> vecdot(array([[1, 2], [3, 4]]), array([1, 1]))
      Array([3, 7], dtype=int32)
    """
    axis = hashable_axis("vecdot", axis)
    return _vecdot(x1, x2, axis, precision, preferred_element_type)


def _vector_products(
    x1: Any, x2: Any, axis: int, precision: PrecisionLike = None, preferred_element_type: Any = None
) -> Any:
    check_arraylike("vecdot", x1, x2)
    x1, x2 = ensure_array(x1), ensure_array(x2)
    first, second = x1.shape, x2.shape
    x1 = moveaxis(x1, canonical_axis(axis, x1.ndim), -1)
    x2 = moveaxis(x2, canonical_axis(axis, x2.ndim), -1)
    if x1.shape[-1] != x2.shape[-1]:
        raise ValueError(f"vecdot: axes must match; got shapes {first} and {second} with {axis=}")
    check_ranks("vecdot", (x1.shape, x2.shape), (x1.shape[:-1], x2.shape[:-1]))
    element_type = _element_type("vecdot", preferred_element_type, x1, x2)
    if dtypes.issubdtype(x1.dtype, np.complexfloating):
        x1 = lax.conj(x1)
    if x1.ndim == x2.ndim == 1 or x1.shape != x2.shape:
        row = x1 if x1.ndim == 1 else lax.expand_dims(x1, (x1.ndim - 1,))
        column = x2 if x2.ndim == 1 else lax.expand_dims(x2, (x2.ndim,))
        result = _matrix_product(row, column, precision, element_type)
        removed = ([result.ndim - 2] if x1.ndim > 1 and x2.ndim > 1 else []) + (
            [result.ndim - 1] if x1.ndim > 1 or x2.ndim > 1 else []
        )
        return lax.squeeze(result, tuple(removed)) if removed else result
    batch = tuple(range(x1.ndim - 1))
    last = (x1.ndim - 1,)
    return contract(x1, x2, ((last, last), (batch, batch)), precision, element_type)


_vecdot = compiled(
    _vector_products, ("axis", "precision", "preferred_element_type"), inline=True, name="vecdot"
)


def _check_core_size(function: str, vector: Any, matrix: Any) -> None:
    if vector != matrix:
        raise ValueError(
            f"{function}: inconsistent size for core dimension: vectors of {vector} elements, "
            f"matrices with a dimension of size {matrix}"
        )


@outlined()
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Returns products of stacked matrices and vectors.

    Args:
      x1: matrices, an array of at least two dimensions.
      x2: vectors, an array of at least one dimension.

    Returns:
      An array of the broadcast leading dimensions and the rows of ``x1``, of the common dtype.

    Raises:
      ValueError: if ``x1`` has less than two dimensions, or ``x2`` none.

    Example:
      >>> from olympus_numpy import array
      >>> matvec(array([[1, 2], [3, 4]]), array([1, 1]))
      Array([3, 7], dtype=int32)
    """
    check_arraylike("matvec", x1, x2)
    x1, x2 = ensure_array(x1), ensure_array(x2)
    if x1.ndim < 2 or x2.ndim < 1:
        raise ValueError(
            f"matvec takes matrices and vectors, got arrays of shapes {x1.shape} and {x2.shape}"
        )
    _check_core_size("matvec", x2.shape[-1], x1.shape[-1])
    check_ranks("matvec", (x1.shape, x2.shape), (x1.shape[:-2], x2.shape[:-1]))
    if x2.ndim == 1:
        return matmul(x1, x2)
    return lax.squeeze(
        matmul(x1, lax.expand_dims(x2, (x2.ndim,))), (max(x1.ndim, x2.ndim + 1) - 1,)
    )


@outlined()
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Returns products of stacked vectors and matrices; the vectors are conjugated.

    Args:
      x1: vectors, an array of at least one dimension.
      x2: matrices, an array of at least two dimensions.

    Returns:
      An array of the broadcast leading dimensions and the columns of ``x2``, of the common dtype.

    Raises:
      ValueError: if ``x1`` has no dimensions, or ``x2`` less than two.

    Example:
      >>> from olympus_numpy import array
      >>> vecmat(array([1, 1]), array([[1, 2], [3, 4]]))
      Array([4, 6], dtype=int32)
    """
    check_arraylike("vecmat", x1, x2)
    x1, x2 = ensure_array(x1), ensure_array(x2)
    if x1.ndim < 1 or x2.ndim < 2:
        raise ValueError(
            f"vecmat takes vectors and matrices, got arrays of shapes {x1.shape} and {x2.shape}"
        )
    _check_core_size("vecmat", x1.shape[-1], x2.shape[-2])
    check_ranks("vecmat", (x1.shape, x2.shape), (x1.shape[:-1], x2.shape[:-2]))
    if dtypes.issubdtype(x1.dtype, np.complexfloating):
        x1 = lax.conj(x1)
    if x1.ndim == 1:
        return matmul(x1, x2)
    return lax.squeeze(
        matmul(lax.expand_dims(x1, (x1.ndim - 1,)), x2), (max(x1.ndim + 1, x2.ndim) - 2,)
    )


@inlined("precision", "preferred_element_type")
def inner(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Returns the product of two arrays over the last dimension of both.

    Args:
      a: an array.
      b: an array.
      precision: the precision of products on accelerators.
      preferred_element_type: the dtype of the accumulation and of the result.

    Returns:
      An array of shape ``a.shape[:-1] + b.shape[:-1]`` and of the common dtype, unless
      ``preferred_element_type`` is given.

    Example:
      >>> from olympus_numpy import array
      >>> inner(array([[1, 2], [3, 4]]), array([1, 1]))
      Array([3, 7], dtype=int32)
    """
    check_arraylike("inner", a, b)
    a, b = ensure_array(a), ensure_array(b)
    element_type = _element_type("inner", preferred_element_type, a, b)
    if a.ndim == 0 or b.ndim == 0:
        return convert(multiply(a, b), *element_type)
    contracting = ((a.ndim - 1,), (b.ndim - 1,))
    return contract(a, b, (contracting, ((), ())), precision, element_type)


def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """Returns the outer product of two arrays, which are flattened first.

    Args:
      a: an array, flattened.
      b: an array, flattened.
      out: not supported.

    Returns:
      An array of shape ``(a.size, b.size)`` and of the common dtype.

    Example:
      >>> from olympus_numpy import array
      >>> outer(array([1, 2]), array([3, 4]))
      Array([[3, 4],
             [6, 8]], dtype=int32)
    """
    if out is not None:
        refuse_out("outer")
    return _outer(a, b)


def _outer_product(a: Any, b: Any) -> Any:
    check_arraylike("outer", a, b)
    a, b = promote_dtypes(ensure_array(a), ensure_array(b))
    a, b = (lax.reshape(x, (math.prod(x.shape),)) for x in (a, b))
    column, row = lax.expand_dims(a, (1,)), lax.expand_dims(b, (0,))
    return lax.bitwise_and(column, row) if a.dtype == np.bool_ else lax.mul(column, row)


_outer = compiled(_outer_product, inline=True, name="_outer")


def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns the product of two arrays over several of their dimensions.

    Args:
      a: an array.
      b: an array.
      axes: the number of dimensions to sum over, the last ones of ``a`` and the first ones of
        ``b``; or a sequence of dimensions for each operand.
      precision: the precision of products on accelerators.
      preferred_element_type: the dtype of the accumulation and of the result.
      out_sharding: the sharding of the result.

    Returns:
      An array of the remaining dimensions of ``a`` and then of ``b``, of the common dtype unless
      ``preferred_element_type`` is given.

    Raises:
      TypeError: ``axes`` is neither an integer nor a pair of sequences of integers, or the sizes of
        summed dimensions differ.

    Example:
      >>> from olympus_numpy import ones
      >>> tensordot(ones((2, 3, 4)), ones((3, 4, 5))).shape
      (2, 5)
    """
    summed: Any = axes
    try:
        if not isinstance(axes, tuple | list) and np.ndim(summed) == 0:
            summed = operator.index(summed)
        else:
            summed = tuple(
                (operator.index(axis),) if np.ndim(axis) == 0 else tuple(map(operator.index, axis))
                for axis in summed
            )
    except (TypeError, ValueError):
        if isinstance(axes, tuple | list) and len(axes) == 2:
            raise TypeError(
                "tensordot requires both axes lists to be either ints, tuples or lists, got "
                f"{axes[0]} and {axes[1]}"
            ) from None
        raise TypeError(
            "tensordot axes argument must be an int, a pair of ints, or a pair of lists/tuples of "
            f"ints, got {axes!r}."
        ) from None
    return _tensordot(a, b, summed, precision, preferred_element_type, out_sharding)


def _tensor_product(
    a: Any,
    b: Any,
    axes: Any = 2,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    out_sharding: ShardingLike = None,
) -> Any:
    check_arraylike("tensordot", a, b)
    a, b = ensure_array(a), ensure_array(b)
    element_type = _element_type("tensordot", preferred_element_type, a, b)
    if isinstance(axes, int):
        if axes > min(a.ndim, b.ndim) or axes < 0:
            raise TypeError(
                f"Number of tensordot axes (axes {axes}) exceeds input ranks "
                f"({a.shape} and {b.shape})"
            )
        contracting: Any = (tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes)))
    else:
        if len(axes) != 2:
            raise TypeError(
                "tensordot axes argument must be an int, a pair of ints, or a pair of lists/tuples "
                f"of ints, got {axes}"
            )
        if len(axes[0]) != len(axes[1]):
            raise TypeError(
                f"tensordot requires axes lists to have equal length, got {axes[0]} and {axes[1]}."
            )
        contracting = tuple(
            tuple(canonical_axis(dim, operand.ndim) for dim in ones)
            for ones, operand in zip(axes, (a, b), strict=True)
        )
    return contract(a, b, (contracting, ((), ())), precision, element_type, out_sharding)


_tensordot = compiled(
    _tensor_product,
    ("axes", "precision", "preferred_element_type", "out_sharding"),
    inline=True,
    name="_tensordot",
)


@outlined()
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """Returns the Kronecker product: each element of ``a`` times the whole of ``b``.

    Args:
      a: an array.
      b: an array.

    Returns:
      An array of the common dtype whose sizes are the products of the operands' sizes.

    Example:
      >>> from olympus_numpy import array
      >>> kron(array([1, 10]), array([1, 2]))
      Array([ 1,  2, 10, 20], dtype=int32)
    """
    check_arraylike("kron", a, b)
    a, b = promote_dtypes(ensure_array(a), ensure_array(b))
    rank = max(a.ndim, b.ndim)
    if a.ndim < rank:
        a = lax.expand_dims(a, tuple(range(rank - a.ndim)))
    if b.ndim < rank:
        b = lax.expand_dims(b, tuple(range(rank - b.ndim)))
    shape = tuple(map(operator.mul, a.shape, b.shape))
    a = lax.expand_dims(a, tuple(range(1, 2 * rank, 2)))
    b = lax.expand_dims(b, tuple(range(0, 2 * rank, 2)))
    product = lax.bitwise_and(a, b) if a.dtype == np.bool_ else lax.mul(a, b)
    return lax.reshape(product, shape)


def _component(x: Any, position: int) -> Any:
    return lax.index_in_dim(x, position, x.ndim - 1, keepdims=False)


@outlined("axisa", "axisb", "axisc", "axis")
def _cross(a: Any, b: Any, axisa: int, axisb: int, axisc: int, axis: int | None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = promote_dtypes(ensure_array(a), ensure_array(b))
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    sizes = (a.shape[-1], b.shape[-1])
    if sizes[0] not in (2, 3) or sizes[1] not in (2, 3):
        raise ValueError("Dimension must be either 2 or 3 for cross product")
    a_parts = [_component(a, position) for position in range(sizes[0])]
    b_parts = [_component(b, position) for position in range(sizes[1])]
    dtype = a.dtype
    a_parts, b_parts = ([convert(part, dtype) for part in parts] for parts in (a_parts, b_parts))
    last = lax.sub(multiply(a_parts[0], b_parts[1]), multiply(a_parts[1], b_parts[0]))
    if sizes == (2, 2):
        return last
    # A vector of two elements lies in the plane: its third component is zero.
    if sizes[0] == 2:
        first, second = multiply(a_parts[1], b_parts[2]), lax.neg(multiply(a_parts[0], b_parts[2]))
    elif sizes[1] == 2:
        first, second = lax.neg(multiply(a_parts[2], b_parts[1])), multiply(a_parts[2], b_parts[0])
    else:
        first = lax.sub(multiply(a_parts[1], b_parts[2]), multiply(a_parts[2], b_parts[1]))
        second = lax.sub(multiply(a_parts[2], b_parts[0]), multiply(a_parts[0], b_parts[2]))
    parts = [lax.expand_dims(x, (x.ndim,)) for x in (first, second, last)]
    return moveaxis(lax.concatenate(parts, parts[0].ndim - 1), -1, axisc)


def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Array:
    """Returns cross products of vectors of two or three components.

    Args:
      a: an array.
      b: an array; the dimensions other than those of the components are broadcast.
      axisa: the dimension of components in ``a``.
      axisb: the dimension of components in ``b``.
      axisc: the dimension of components in the result; of two vectors in the plane the result is
        the third component alone.
      axis: the dimension of components in both operands and the result; overrides the other three.

    Returns:
      An array of the broadcast shape and common dtype; without the axis for vectors of two
      elements.

    Example:
      >>> from olympus_numpy import array
      >>> cross(array([1, 0, 0]), array([0, 1, 0]))
      Array([0, 0, 1], dtype=int32)
    """
    check_arraylike("cross", a, b)
    first, second, result = (hashable_axis("cross", x) for x in (axisa, axisb, axisc))
    common = None if axis is None else hashable_axis("cross", axis)
    return _cross(a, b, first, second, result, common)
