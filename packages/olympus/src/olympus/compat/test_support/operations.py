# SPDX-License-Identifier: Apache-2.0
"""Lists of the operations of `olympus.lax` with the dtypes and samples that tests run them with.

They are under the names of JAX's private module ``lax_test_util``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus import lax

from . import samplers
from .dtype_lists import dtypes

__all__ = [
    "NamedReducerOpRecord",
    "OpRecord",
    "ReducerOpRecord",
    "add_bdim",
    "all_bdims",
    "all_dtypes",
    "args_slicer",
    "bool_dtypes",
    "compatible_shapes",
    "complex_dtypes",
    "complex_elem_dtypes",
    "default_dtypes",
    "float_dtypes",
    "inexact_dtypes",
    "int_dtypes",
    "lax_named_reduce_ops",
    "lax_ops",
    "lax_out_dtype_ops",
    "lax_reduce_ops",
    "number_dtypes",
    "python_scalar_types",
    "slicer",
    "uint_dtypes",
]

float_dtypes = dtypes.all_floating
complex_elem_dtypes = dtypes.floating
complex_dtypes = dtypes.complex
int_dtypes = dtypes.all_integer
uint_dtypes = dtypes.all_unsigned
bool_dtypes = dtypes.boolean
inexact_dtypes = float_dtypes + complex_dtypes
default_dtypes = float_dtypes + int_dtypes
number_dtypes = inexact_dtypes + int_dtypes + uint_dtypes
all_dtypes = number_dtypes + bool_dtypes
python_scalar_types = [bool, int, float, complex]

#: Groups of shapes that broadcast with one another.
compatible_shapes = [[(3,)], [(3, 4), (3, 1), (1, 4)], [(2, 3, 4), (2, 1, 4)]]


class OpRecord(NamedTuple):
    """Elementwise operation.

    Attributes:
      op: the name of the function in ``lax``.
      nargs: the number of operands.
      dtypes: the dtypes of the operands.
      rng_factory: the function that makes the sampler of an operand from a random state.
      tol: the tolerance of comparisons, or a dictionary of tolerances by dtype.
    """

    op: str
    nargs: int
    dtypes: list[Any]
    rng_factory: Callable[..., Any]
    tol: Any = None


class ReducerOpRecord(NamedTuple):
    """Binary operation as the function of a reduction, with the value to begin with."""

    op: Callable[..., Any]
    reference_op: Callable[..., Any]
    init_val: Any
    dtypes: list[Any]
    primitive: Any


class NamedReducerOpRecord(NamedTuple):
    """Reduction with a function of its own."""

    op: Callable[..., Any]
    reference_op: Callable[..., Any]
    dtypes: list[Any]


_default, _small, _positive = samplers.rand_default, samplers.rand_small, samplers.rand_positive
_nonzero, _some_equal, _int = samplers.rand_nonzero, samplers.rand_some_equal, samplers.rand_int

_not_unsigned = default_dtypes + complex_dtypes
_not_bfloat16 = [dtype for dtype in float_dtypes if np.dtype(dtype).isbuiltin == 1]
_gamma_tolerance = {np.float64: 1e-14}

_ROUNDING = [
    OpRecord("neg", 1, _not_unsigned, _small),
    OpRecord("sign", 1, default_dtypes + uint_dtypes, _small),
    OpRecord("floor", 1, float_dtypes, _small),
    OpRecord("ceil", 1, float_dtypes, _small),
    OpRecord("round", 1, float_dtypes, _default),
    OpRecord("nextafter", 2, _not_bfloat16, _default, 0),
    OpRecord("is_finite", 1, float_dtypes, _small),
]

_MATHEMATICS = [
    OpRecord("exp", 1, inexact_dtypes, _small),
    OpRecord("exp2", 1, inexact_dtypes, _small),
    OpRecord("expm1", 1, inexact_dtypes, _small, {np.float64: 1e-8}),
    OpRecord("log", 1, inexact_dtypes, _positive),
    OpRecord("log1p", 1, inexact_dtypes, _positive),
    OpRecord("tanh", 1, inexact_dtypes, _small, {np.float64: 1e-9, np.complex128: 1e-7}),
    OpRecord("logistic", 1, inexact_dtypes, _default),
    OpRecord("sin", 1, inexact_dtypes, _default),
    OpRecord("cos", 1, inexact_dtypes, _default),
    OpRecord("atan2", 2, float_dtypes, _default),
    OpRecord("sqrt", 1, float_dtypes, _positive),
    OpRecord("sqrt", 1, complex_dtypes, _default),
    OpRecord("rsqrt", 1, float_dtypes, _positive),
    OpRecord("rsqrt", 1, complex_dtypes, _default),
    OpRecord("cbrt", 1, float_dtypes, _default),
    OpRecord("square", 1, inexact_dtypes, _default),
    OpRecord("reciprocal", 1, inexact_dtypes, _positive),
    OpRecord("tan", 1, inexact_dtypes, _default, {np.float32: 3e-5}),
    OpRecord("asin", 1, inexact_dtypes, _small, {np.complex128: 5e-12}),
    OpRecord("acos", 1, inexact_dtypes, _small),
    OpRecord("atan", 1, inexact_dtypes, _small),
    OpRecord("asinh", 1, inexact_dtypes, _default, {np.complex64: 1e-4, np.complex128: 1e-5}),
    OpRecord("acosh", 1, inexact_dtypes, _positive),
    OpRecord("atanh", 1, inexact_dtypes, _small, {np.float64: 1e-9}),
    OpRecord("sinh", 1, inexact_dtypes, _default),
    OpRecord("cosh", 1, inexact_dtypes, _default),
    OpRecord("lgamma", 1, float_dtypes, _positive, {np.float32: 1e-5, np.float64: 1e-14}),
    OpRecord("digamma", 1, float_dtypes, _positive, _gamma_tolerance),
    OpRecord(
        "betainc", 3, float_dtypes, samplers.rand_uniform, {np.float32: 2e-5, np.float64: 1e-12}
    ),
    OpRecord("igamma", 2, complex_elem_dtypes, _positive, _gamma_tolerance),
    OpRecord("igammac", 2, complex_elem_dtypes, _positive, _gamma_tolerance),
    OpRecord("erf", 1, float_dtypes, _small),
    OpRecord("erfc", 1, float_dtypes, _small),
    OpRecord("erf_inv", 1, float_dtypes, _small, {np.float64: 1e-9}),
    OpRecord("bessel_i0e", 1, float_dtypes, _default),
    OpRecord("bessel_i1e", 1, float_dtypes, _default),
]

_PARTS = [
    OpRecord("real", 1, complex_dtypes, _default),
    OpRecord("imag", 1, complex_dtypes, _default),
    OpRecord("complex", 2, complex_elem_dtypes, _default),
    OpRecord("conj", 1, complex_elem_dtypes + complex_dtypes, _default),
    OpRecord("abs", 1, _not_unsigned, _default),
    OpRecord("pow", 2, inexact_dtypes, _positive),
]

_BITS = [
    OpRecord("bitwise_and", 2, bool_dtypes, _small),
    OpRecord("bitwise_not", 1, bool_dtypes, _small),
    OpRecord("bitwise_or", 2, bool_dtypes, _small),
    OpRecord("bitwise_xor", 2, bool_dtypes, _small),
    OpRecord("population_count", 1, int_dtypes + uint_dtypes, _int),
    OpRecord("clz", 1, int_dtypes + uint_dtypes, _int),
]

_ARITHMETIC = [
    OpRecord("add", 2, _not_unsigned, _small),
    OpRecord("sub", 2, _not_unsigned, _small),
    OpRecord("mul", 2, _not_unsigned, _small),
    OpRecord("mulhi", 2, int_dtypes + uint_dtypes, samplers.rand_fullrange),
    OpRecord("div", 2, _not_unsigned, _nonzero),
    OpRecord("rem", 2, default_dtypes, _nonzero),
    OpRecord("max", 2, all_dtypes, _small),
    OpRecord("min", 2, all_dtypes, _small),
    OpRecord("eq", 2, all_dtypes, _some_equal),
    OpRecord("ne", 2, all_dtypes, _small),
    OpRecord("ge", 2, default_dtypes, _small),
    OpRecord("gt", 2, default_dtypes, _small),
    OpRecord("le", 2, default_dtypes, _small),
    OpRecord("lt", 2, default_dtypes, _small),
]


def lax_ops() -> list[OpRecord]:
    """Returns records of the elementwise operations."""
    return _ROUNDING + _MATHEMATICS + _PARTS + _BITS + _ARITHMETIC


def lax_out_dtype_ops() -> list[OpRecord]:
    """Returns records of the operations with the parameter ``out_dtype``."""
    return [OpRecord("mul", 2, _not_unsigned, _small)]


def lax_reduce_ops() -> list[ReducerOpRecord]:
    """Returns records of binary operations with the values with which reductions begin."""
    bits = int_dtypes + uint_dtypes + bool_dtypes
    lowest: list[Any] = [(0, uint_dtypes + bool_dtypes), (-np.inf, float_dtypes)]
    lowest += [(np.iinfo(dtype).min, [dtype]) for dtype in (np.int32, np.int64)]
    highest: list[Any] = [(np.inf, float_dtypes)]
    wide = (np.int32, np.int64, np.uint32, np.uint64)
    highest += [(np.iinfo(dtype).max, [dtype]) for dtype in wide]
    return [
        ReducerOpRecord(lax.add, np.add, 0, default_dtypes, lax.reduce_sum_p),
        ReducerOpRecord(lax.mul, np.multiply, 1, default_dtypes, lax.reduce_prod_p),
        *(ReducerOpRecord(lax.max, np.maximum, v, kinds, lax.reduce_max_p) for v, kinds in lowest),
        *(ReducerOpRecord(lax.min, np.minimum, v, kinds, lax.reduce_min_p) for v, kinds in highest),
        ReducerOpRecord(lax.bitwise_and, np.bitwise_and, -1, bits, lax.reduce_and_p),
        ReducerOpRecord(lax.bitwise_or, np.bitwise_or, 0, bits, lax.reduce_or_p),
        ReducerOpRecord(lax.bitwise_xor, np.bitwise_xor, 0, bits, lax.reduce_xor_p),
    ]


def lax_named_reduce_ops() -> list[NamedReducerOpRecord]:
    """Returns records of the reductions that have functions of their own."""
    bits = bool_dtypes + int_dtypes + uint_dtypes
    return [
        NamedReducerOpRecord(lax.reduce_sum, np.sum, number_dtypes),
        NamedReducerOpRecord(lax.reduce_prod, np.prod, number_dtypes),
        NamedReducerOpRecord(lax.reduce_max, np.max, all_dtypes),
        NamedReducerOpRecord(lax.reduce_min, np.min, all_dtypes),
        NamedReducerOpRecord(lax.reduce_and, np.bitwise_and.reduce, bits),
        NamedReducerOpRecord(lax.reduce_or, np.bitwise_or.reduce, bits),
        NamedReducerOpRecord(lax.reduce_xor, np.bitwise_xor.reduce, bits),
    ]


# ---- batch dimensions ----


def all_bdims(*shapes: Sequence[int]) -> Iterator[tuple[int | None, ...]]:
    """Returns all choices of batch dimensions with at least one operand that is batched.

    Args:
      *shapes: the shapes of the operands without batch dimensions.

    Example:
      >>> list(all_bdims((3,)))
      [(0,), (1,)]
    """
    choices = itertools.product(*((None, *range(len(shape) + 1)) for shape in shapes))
    return (bdims for bdims in choices if any(bdim is not None for bdim in bdims))


def add_bdim(bdim_size: int, bdim: int | None, shape: Sequence[int]) -> tuple[int, ...]:
    """Returns a shape with a batch dimension, if there is one.

    Example:
      >>> add_bdim(5, 1, (2, 3))
      (2, 5, 3)
    """
    sizes = list(shape)
    if bdim is not None:
        sizes.insert(bdim, bdim_size)
    return tuple(sizes)


def slicer(x: Any, bdim: int | None) -> Callable[[int], Any]:
    """Returns a function from a position to the part of an array there; all of it if unbatched."""
    if bdim is None:
        return lambda _: x
    return lambda position: lax.index_in_dim(x, position, bdim, keepdims=False)


def args_slicer(args: Sequence[Any], bdims: Sequence[int | None]) -> Callable[[int], list[Any]]:
    """Returns a function from a position to the parts of all arguments there; see `slicer`."""
    slicers = list(map(slicer, args, bdims))
    return lambda position: [part(position) for part in slicers]
