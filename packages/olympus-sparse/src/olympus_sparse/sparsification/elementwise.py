# SPDX-License-Identifier: Apache-2.0
"""Sparse rules of elementwise operations that map zero to zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir import lax
from olympus_ir.lax.core.values import dtype_of
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.tracing import concrete_or_error
from olympus_ir.types.dtypes import issubdtype

from ..bcoo.arithmetic import bcoo_multiply_dense, bcoo_multiply_sparse
from ..bcoo.array import BCOO, make
from ..bcoo.ordering import bcoo_sum_duplicates_p
from ..bcsr.array import BCSR
from ..core.base import SparseInfo
from .interpreter import is_sparse, sparse_rules

__all__ = ["as_bcoo", "to_dense"]


def to_dense(value: Any) -> Any:
    """Converts a sparse array to a dense array; returns a dense array unchanged."""
    return value.todense() if is_sparse(value) else value


def as_bcoo(value: Any) -> Any:
    """Converts a BCSR to a BCOO; returns other values unchanged."""
    return value.to_bcoo() if isinstance(value, BCSR) else value


def _on_values(primitive: Primitive, *, additive: bool = False) -> Callable[..., Any]:
    """Returns the rule of an operation that acts on each value separately.

    Args:
      primitive: the operation.
      additive: whether the operation may be applied to each term of a sum.
    """

    def rule(operand: Any, **params: Any) -> Any:
        if not additive and not operand.unique_indices:
            operand = _without_duplicates(as_bcoo(operand))
        return operand._with_data(primitive.bind(operand.data, **params))

    return rule


def _without_duplicates(mat: BCOO) -> BCOO:
    """Adds up entries with equal coordinates; the number of entries stays the same."""
    buffers = bcoo_sum_duplicates_p.bind(mat.data, mat.indices, spinfo=mat._info, nse=mat.nse)
    return make(tuple(buffers), SparseInfo(mat.shape, True, True))


for _primitive in (
    *(lax.abs_p, lax.asin_p, lax.asinh_p, lax.atan_p, lax.atanh_p, lax.bessel_i1e_p),
    *(lax.cbrt_p, lax.ceil_p, lax.conj_p, lax.erf_p, lax.erf_inv_p, lax.expm1_p, lax.floor_p),
    *(lax.log1p_p, lax.reduce_precision_p, lax.round_p, lax.sign_p, lax.sin_p, lax.sinh_p),
    *(lax.sqrt_p, lax.square_p, lax.tan_p, lax.tanh_p, lax.population_count_p),
):
    sparse_rules.define(_primitive, _on_values(_primitive))
for _primitive in (
    *(lax.copy_p, lax.imag_p, lax.neg_p, lax.real_p, lax.stage_p, lax.stop_gradient_p),
):
    sparse_rules.define(_primitive, _on_values(_primitive, additive=True))


@sparse_rules.define(lax.convert_element_type_p)
def _convert_element_type(operand: Any, **params: Any) -> Any:
    additive = issubdtype(params["new_dtype"], np.inexact)
    return _on_values(lax.convert_element_type_p, additive=additive)(operand, **params)


@sparse_rules.define(lax.integer_pow_p)
def _integer_pow(operand: Any, *, y: int) -> Any:
    if y <= 0:
        raise NotImplementedError(
            f"sparse rule for integer_pow with non-positive exponent {y} is not implemented "
            "because it would result in dense output. If this is your intent, use "
            "sparse.todense() to convert your argument to a dense array."
        )
    return _on_values(lax.integer_pow_p)(operand, y=y)


# ---- sums ----


def _sum(lhs: Any, rhs: Any, operation: str) -> Any:
    lhs, rhs = as_bcoo(lhs), as_bcoo(rhs)
    if not (is_sparse(lhs) and is_sparse(rhs)):
        sparse, dense = (lhs, rhs) if is_sparse(lhs) else (rhs, lhs)
        shape = np.broadcast_shapes(sparse.shape, np.shape(dense))
        if np.shape(dense) != shape:
            raise NotImplementedError(
                f"{operation} between a sparse array X and a dense array Y is not implemented when "
                "the output shape is larger than Y.shape. This is to prevent silent densification "
                "of a large sparse array. If this is your intent, you can explicitly cast the "
                "sparse array to a dense matrix."
            )
        return lax.add(to_dense(lhs), to_dense(rhs))
    if lhs._places is not None and lhs._places is rhs._places and lhs.shape == rhs.shape:
        return lhs._with_data(lax.add(lhs.data, rhs.data))
    if lhs.shape != rhs.shape:
        raise NotImplementedError(
            f"{operation} between sparse arrays of different shapes, {lhs.shape} and {rhs.shape}."
        )
    if (lhs.n_batch, lhs.n_dense) != (rhs.n_batch, rhs.n_dense):
        raise NotImplementedError(
            f"{operation} between sparse arrays with different batch/dense dimensions."
        )
    return _joined(lhs, rhs)


def _joined(lhs: BCOO, rhs: BCOO) -> BCOO:
    """Concatenates the entries of two arrays, which adds the arrays."""
    n_batch = lhs.n_batch
    # A batch dimension has size one if both buffers have size one.
    buffers = []
    for left, right in ((lhs.data, rhs.data), (lhs.indices, rhs.indices)):
        batch = np.broadcast_shapes(left.shape[:n_batch], right.shape[:n_batch])
        parts = [
            jnp.broadcast_to(operand, (*batch, *operand.shape[n_batch:]))
            for operand in (left, right)
        ]
        buffers.append(jnp.concatenate(parts, axis=n_batch))
    return make(tuple(buffers), SparseInfo(lhs.shape))


@sparse_rules.define(lax.add_p)
def _add(lhs: Any, rhs: Any, **params: Any) -> Any:
    return _sum(lhs, rhs, "Addition")


@sparse_rules.define(lax.add_any_p)
def _add_any(lhs: Any, rhs: Any, **params: Any) -> Any:
    return _sum(lhs, rhs, "Addition")


@sparse_rules.define(lax.sub_p)
def _sub(lhs: Any, rhs: Any, **params: Any) -> Any:
    if is_sparse(rhs):
        return _sum(lhs, rhs._with_data(lax.neg(rhs.data)), "Subtraction")
    return _sum(lhs, lax.neg(rhs), "Subtraction")


# ---- products ----


@sparse_rules.define(lax.mul_p)
def _mul(lhs: Any, rhs: Any, *, out_dtype: Any = None) -> Any:
    if out_dtype is not None:
        out = _mul(lhs, rhs)
        return out._with_data(lax.convert_element_type(out.data, out_dtype))
    if is_sparse(lhs) and is_sparse(rhs):
        lhs, rhs = as_bcoo(lhs), as_bcoo(rhs)
        same = lhs._places is not None and lhs._places is rhs._places
        if same and lhs.unique_indices and lhs.shape == rhs.shape:
            return lhs._with_data(lax.mul(lhs.data, rhs.data))
        return bcoo_multiply_sparse(lhs, rhs)
    sparse, dense = (lhs, rhs) if is_sparse(lhs) else (rhs, lhs)
    if isinstance(sparse, BCSR) and np.ndim(dense) == 0:
        return sparse._with_data(lax.mul(sparse.data, dense))
    sparse = as_bcoo(sparse)
    return sparse._with_data(bcoo_multiply_dense(sparse, dense))


@sparse_rules.define(lax.div_p)
def _div(lhs: Any, rhs: Any, **params: Any) -> Any:
    if is_sparse(rhs):
        raise NotImplementedError(
            "Division by a sparse array is not implemented because it would result in dense "
            "output. If this is your intent, use sparse.todense() to convert your arguments to a "
            "dense array."
        )
    if issubdtype(lhs.dtype, np.inexact):
        return _mul(lhs, lax.div(jnp.ones((), dtype_of(rhs)), rhs))
    lhs = lhs if lhs.unique_indices else _without_duplicates(as_bcoo(lhs))
    if np.ndim(rhs) == 0:
        return lhs._with_data(lax.div(lhs.data, rhs))
    lhs = as_bcoo(lhs)
    ones = lhs._with_data(jnp.ones_like(lhs.data))
    divisors = bcoo_multiply_dense(ones, rhs)
    return lhs._with_data(lax.div(lhs.data, jnp.where(divisors == 0, 1, divisors)))


def _with_constant(primitive: Primitive) -> Callable[..., Any]:
    """Returns the rule of a maximum or minimum with a known scalar that keeps zeros zero."""

    def rule(lhs: Any, rhs: Any, **params: Any) -> Any:
        sparse, other = (lhs, rhs) if is_sparse(lhs) else (rhs, lhs)
        if is_sparse(other) or np.ndim(other) != 0:
            raise NotImplementedError(f"sparse rule for {primitive.name} is not implemented.")
        try:
            known = concrete_or_error(np.asarray, other)
        except TypeError:
            known = np.nan
        if not (known <= 0 if primitive is lax.max_p else known >= 0):
            raise NotImplementedError(
                f"sparse rule for {primitive.name} is not implemented because it would result in "
                "dense output. If this is your intent, use sparse.todense() to convert your "
                "arguments to dense matrices."
            )
        if not sparse.unique_indices:
            sparse = _without_duplicates(as_bcoo(sparse))
        return sparse._with_data(primitive.bind(sparse.data, other))

    return rule


for _primitive in (lax.max_p, lax.min_p):
    sparse_rules.define(_primitive, _with_constant(_primitive))
