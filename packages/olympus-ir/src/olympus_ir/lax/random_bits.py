# SPDX-License-Identifier: Apache-2.0
"""Operations that use the compiler's generators of random bits and random numbers."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..programs.primitives import instruction
from ..types import dtypes
from ..types.annotations import DTypeLike, ShardingLike
from ..types.avals import ShapedArray, canonicalize_shape
from ..types.resharding import asked_sharding
from .core.declarations import check_dtype
from .core.values import Array, ArrayLike

__all__ = [
    "RandomAlgorithm",
    "rng_bit_generator",
    "rng_bit_generator_p",
    "rng_uniform",
    "rng_uniform_p",
]

# *new_key, bits = rng_bit_generator[algorithm dtype out_sharding shape] key
rng_bit_generator_p = instruction("rng_bit_generator", multiple_results=True, family="random_bits")
rng_uniform_p = instruction("rng_uniform", family="random_bits")

_KEY_TYPES = (((4,), np.dtype(np.uint32)), ((2,), np.dtype(np.uint64)))


class RandomAlgorithm(enum.IntEnum):
    """The counter-based generator of `rng_bit_generator`.

    Attributes:
      RNG_DEFAULT: the fastest generator of the platform; Philox on CPU and GPU.
      RNG_THREE_FRY: Threefry 2x32.
      RNG_PHILOX: Philox 4x32.
    """

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


@rng_bit_generator_p.def_abstract_eval
def _rng_bit_generator_types(
    key: ShapedArray, *, shape: tuple[int, ...], dtype: Any, algorithm: Any, out_sharding: Any
) -> list[ShapedArray]:
    if (key.shape, key.dtype) not in _KEY_TYPES:
        raise TypeError(
            "rng_bit_generator requires a key of type uint32[4] or uint64[2], got "
            f"{key.str_short()}"
        )
    if not dtypes.issubdtype(dtype, np.unsignedinteger) or dtypes.itemsize_bits(dtype) < 8:
        raise TypeError(
            f"rng_bit_generator: unsupported dtype {dtypes.name_of(dtype)}; it must be one of "
            "uint8, uint16, uint32 and uint64"
        )
    return [key, ShapedArray(shape, dtype)]


def rng_bit_generator(
    key: ArrayLike,
    shape: Sequence[int],
    dtype: DTypeLike = np.uint32,
    algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: ShardingLike = None,
) -> tuple[Array, Array]:
    """Returns random bits from a fast generator of the compiler.

    For the same key, the bits may differ between platforms and versions of the compiler. The
    functions of `olympus.random` return the same bits everywhere.

    Args:
      key: the state of the generator, of type uint32[4] or uint64[2].
      shape: the shape of the bits.
      dtype: an unsigned integer dtype.
      algorithm: the generator.
      out_sharding: the sharding of the bits.

    Returns:
      The next state, of the type of ``key``, and an array of the given shape and dtype.

    Raises:
      TypeError: if ``key`` or ``dtype`` has an unsupported type.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> key, bits = lax.rng_bit_generator(np.array([1, 2, 3, 4], np.uint32), (2,))
      >>> bits
      Array([ 512747620, 1298009047], dtype=uint32)
    """
    dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "rng_bit_generator")
    new_key, bits = rng_bit_generator_p.bind(
        key,
        shape=canonicalize_shape(shape),
        dtype=dtype,
        algorithm=RandomAlgorithm(algorithm),
        out_sharding=asked_sharding(out_sharding, "rng_bit_generator"),
    )
    return new_key, bits


@rng_uniform_p.def_abstract_eval
def _rng_uniform_type(a: ShapedArray, b: ShapedArray, *, shape: tuple[int, ...]) -> ShapedArray:
    if a.dtype != b.dtype:
        raise ValueError(
            "Arguments to rng_uniform must have identical dtypes, got "
            f"{dtypes.name_of(a.dtype)} and {dtypes.name_of(b.dtype)}."
        )
    if a.shape or b.shape:
        raise ValueError(
            f"Arguments to rng_uniform must be scalars; got shapes {a.shape} and {b.shape}."
        )
    check_dtype("rng_uniform", a, (np.floating, np.integer))
    return ShapedArray(shape, a.dtype, weak_type=a.weak_type and b.weak_type)


def rng_uniform(a: ArrayLike, b: ArrayLike, shape: Sequence[int]) -> Array:
    """Draws uniform random numbers with the generator of the device, whose state is hidden.

    The numbers differ between runs, and between a function and its transformations.

    Use `olympus.random.uniform` if the numbers must be reproducible.

    Args:
      a: the lower bound, a scalar.
      b: the upper bound, a scalar of the same dtype.
      shape: the shape of the numbers.

    Returns:
      An array of the given shape and the dtype of the bounds.

    Raises:
      ValueError: if the bounds are not scalars or differ in dtype.

    Example:
      >>> from olympus_ir import lax
      >>> lax.rng_uniform(0.0, 1.0, (3,)).shape
      (3,)
    """
    return rng_uniform_p.bind(a, b, shape=canonicalize_shape(shape))
