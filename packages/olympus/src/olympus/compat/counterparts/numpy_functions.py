# SPDX-License-Identifier: Apache-2.0
"""Functions of `olympus.lax` in NumPy, under the names of JAX's private module ``lax_reference``.

Tests compare functions of ``lax`` with them. All take and return NumPy arrays; elementwise
functions broadcast their operands. Functions that NumPy has under another name are in the table of
names, and most others are the rules of the reference evaluator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from olympus import lax
from olympus_ir.lax import special
from olympus_ir.lax.elementwise import arithmetic, logic, mathematics
from olympus_ir.lax.elementwise.conversion import bitcast_convert_type_p
from olympus_ir.lax.indexing import slicing
from olympus_ir.lax.shaping import rearrangement
from olympus_ir.lax.shaping.broadcasting import broadcast_in_dim_p
from olympus_ir.lax.sorting import ordering
from olympus_ir.reference import reference_rules

__all__ = [
    "apply_rule",
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "bitcast_convert_type",
    "broadcast",
    "broadcast_in_dim",
    "clamp",
    "clz",
    "complex_of_parts",
    "concatenate",
    "conj",
    "convert_element_type",
    "digamma",
    "div",
    "dynamic_slice",
    "dynamic_update_slice",
    "erf",
    "erf_inv",
    "erfc",
    "igamma",
    "igammac",
    "lgamma",
    "logistic",
    "mul",
    "mulhi",
    "pad",
    "population_count",
    "rem",
    "reshape",
    "rev",
    "round_away_from_zero",
    "rsqrt",
    "shift_right_logical",
    "sign",
    "slice_of",
    "sort_key_val",
    "top_k",
]


def apply_rule(primitive: Any, *operands: ArrayLike, **params: Any) -> Any:
    """Applies the rule of the reference evaluator for a primitive to NumPy arrays."""
    with np.errstate(all="ignore"):
        return _rule(primitive)(*map(np.asarray, operands), **params)


def _rule(primitive: Any) -> Callable[..., Any]:
    rule = reference_rules.rules.get(primitive) or reference_rules.find(primitive)
    if rule is None:
        raise reference_rules.missing(primitive)
    return rule


def _elementwise(primitive: Any, **params: Any) -> Callable[..., np.ndarray]:
    """Returns the function of NumPy arrays that a primitive computes."""

    def function(*operands: ArrayLike) -> np.ndarray:
        return np.asarray(apply_rule(primitive, *np.broadcast_arrays(*operands), **params))

    function.__name__ = function.__qualname__ = primitive.name
    function.__doc__ = f"Computes {primitive.name}, element by element."
    return function


bessel_i0e = _elementwise(special.bessel_i0e_p)
bessel_i1e = _elementwise(special.bessel_i1e_p)
betainc = _elementwise(special.regularized_incomplete_beta_p)
clz = _elementwise(logic.clz_p)
complex_of_parts = _elementwise(arithmetic.complex_p)
conj = _elementwise(arithmetic.conj_p, input_dtype=None)
digamma = _elementwise(mathematics.digamma_p)
div = _elementwise(arithmetic.div_p)
erf = _elementwise(mathematics.erf_p)
erf_inv = _elementwise(mathematics.erf_inv_p)
erfc = _elementwise(mathematics.erfc_p)
igamma = _elementwise(special.igamma_p)
igammac = _elementwise(special.igammac_p)
logistic = _elementwise(mathematics.logistic_p)
lgamma = _elementwise(mathematics.lgamma_p)
mulhi = _elementwise(logic.mulhi_p)
population_count = _elementwise(logic.population_count_p)
rem = _elementwise(arithmetic.rem_p)
round_away_from_zero = _elementwise(
    arithmetic.round_p, rounding_method=lax.RoundingMethod.AWAY_FROM_ZERO
)
rsqrt = _elementwise(mathematics.rsqrt_p)
shift_right_logical = _elementwise(logic.shift_right_logical_p)
sign = _elementwise(arithmetic.sign_p)


def mul(x: ArrayLike, y: ArrayLike, /, *, out_dtype: DTypeLike | None = None) -> np.ndarray:
    """Multiplies arrays, after a conversion to ``out_dtype`` if it is given."""
    return np.multiply(x, y, dtype=out_dtype)


def clamp(min: ArrayLike, operand: ArrayLike, max: ArrayLike) -> np.ndarray:
    """Limits elements to an interval; the upper bound wins over the lower one."""
    return np.minimum(np.maximum(operand, min), max).astype(np.asarray(operand).dtype)


# ---- dtypes ----


def convert_element_type(operand: ArrayLike, dtype: DTypeLike) -> np.ndarray:
    """Converts elements to a dtype."""
    return np.asarray(operand).astype(dtype)


def bitcast_convert_type(operand: ArrayLike, dtype: DTypeLike) -> np.ndarray:
    """Reads the bits of elements as another dtype.

    A narrower dtype adds a last dimension, and a wider one takes the last dimension away.
    """
    return apply_rule(bitcast_convert_type_p, operand, new_dtype=np.dtype(dtype))


# ---- shapes ----


def broadcast(operand: ArrayLike, sizes: Sequence[int]) -> np.ndarray:
    """Adds leading dimensions of the given sizes."""
    return np.broadcast_to(operand, (*sizes, *np.shape(operand)))


def broadcast_in_dim(
    operand: ArrayLike, shape: Sequence[int], broadcast_dimensions: Sequence[int]
) -> np.ndarray:
    """Repeats an array along the dimensions of a shape that are not its own."""
    return apply_rule(
        broadcast_in_dim_p,
        operand,
        shape=tuple(shape),
        broadcast_dimensions=tuple(broadcast_dimensions),
        sharding=None,
    )


def concatenate(operands: Sequence[ArrayLike], dimension: int) -> np.ndarray:
    """Joins arrays along a dimension."""
    return np.concatenate(operands, axis=dimension)


def reshape(
    operand: ArrayLike, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None
) -> np.ndarray:
    """Gives an array another shape, after a transposition if ``dimensions`` are given."""
    return apply_rule(
        rearrangement.reshape_p,
        operand,
        new_sizes=tuple(new_sizes),
        dimensions=dimensions,
        sharding=None,
    )


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> np.ndarray:
    """Reverses the order of elements along dimensions."""
    return np.flip(operand, tuple(dimensions))


def pad(
    operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[tuple[int, int, int]]
) -> np.ndarray:
    """Adds elements before, after and between those of an array; negative numbers remove some."""
    return apply_rule(
        rearrangement.pad_p, operand, padding_value, padding_config=tuple(padding_config)
    )


# ---- parts of arrays ----


def slice_of(
    operand: ArrayLike,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> np.ndarray:
    """Returns every n-th element between indices, in each dimension."""
    return apply_rule(
        slicing.slice_p,
        operand,
        start_indices=start_indices,
        limit_indices=limit_indices,
        strides=strides,
    )


def dynamic_slice(
    operand: ArrayLike, start_indices: Sequence[int], slice_sizes: Sequence[int]
) -> np.ndarray:
    """Returns a block of an array; the start is moved so that the block fits."""
    return apply_rule(slicing.dynamic_slice_p, operand, *start_indices, slice_sizes=slice_sizes)


def dynamic_update_slice(
    operand: ArrayLike, update: ArrayLike, start_indices: Sequence[int]
) -> np.ndarray:
    """Replaces a block of an array; the start is moved so that the block fits."""
    return apply_rule(slicing.dynamic_update_slice_p, operand, update, *start_indices)


def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1
) -> tuple[np.ndarray, np.ndarray]:
    """Sorts keys along a dimension, and reorders the values like their keys."""
    order = np.argsort(keys, axis=dimension, kind="stable")
    by_key = [np.take_along_axis(np.asarray(x), order, dimension) for x in (keys, values)]
    return by_key[0], by_key[1]


def top_k(operand: ArrayLike, k: int, axis: int = -1) -> tuple[np.ndarray, np.ndarray]:
    """Returns the largest elements along an axis, from the largest on, and their indices."""
    axis = axis % np.ndim(operand)
    values, indices = apply_rule(ordering.top_k_p, operand, k=k, axis=axis)
    return values, indices
