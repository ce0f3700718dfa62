# SPDX-License-Identifier: Apache-2.0
"""Keys: creation from seeds, splitting, and conversion to and from data."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.axes import integer_or_dim
from olympus_ir.programs.evaluation import evaluator
from olympus_ir.programs.tracing import current, evaluation_trace, is_constant_dim
from olympus_ir.settings import config, config_flags
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_ir.types.extended_arrays import ExtendedArray

from ..generators.implementations import (
    KeyType,
    PRNGImpl,
    default_implementation,
    find_implementation,
)
from ..generators.threefry import threefry_implementation
from .arguments import check_key, check_keys, checks_reuse, compiled, sample_shape, wrap
from .primitives import (
    random_clone_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
    random_unwrap_p,
)

__all__ = [
    "PRNGKey",
    "clone",
    "fold_in",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "split",
    "wrap_key_data",
]


# ---- keys from seeds ----


def key(
    seed: ArrayLike, *, impl: str | KeyType | PRNGImpl | None = None, dtype: DTypeLike | None = None
) -> Array:
    """Makes a typed key from a seed.

    Args:
      seed: an integer scalar of at most 64 bits. Without 64-bit types, only the lower 32 bits
        count.
      impl: the name of the bit generator; if None, the configured generator, ``"threefry2x32"`` by
        default.
      dtype: a dtype of keys, in place of ``impl``; see `key_dtype`.

    Returns:
      A scalar array of a dtype such as ``key<fry>``.

    Raises:
      TypeError: the seed is not an integer scalar, or both ``impl`` and ``dtype`` are given.
      ValueError: the bit generator is unknown.

    Example:
      >>> from olympus_random import key
      >>> key(43)
      Array((), dtype=key<fry>) overlaying:
      [ 0 43]
    """
    return _key("key", seed, _chosen(impl, dtype))


def PRNGKey(seed: ArrayLike, *, impl: str | KeyType | PRNGImpl | None = None) -> Array:
    """Makes a key from a seed, as untyped data by default; the older form of `key`.

    Args:
      seed: an integer scalar; see `key`.
      impl: the name of the bit generator; the configured generator if None.

    Returns:
      A uint32 array of the shape of the generator's keys, (2,) for ``"threefry2x32"``; a typed key
      if the configuration requests one.

    Raises:
      TypeError: the seed is not an integer scalar.
      ValueError: the bit generator is unknown.

    Example:
      >>> from olympus_random import PRNGKey
      >>> PRNGKey(43)
      Array([ 0, 43], dtype=uint32)
    """
    key = _key("PRNGKey", seed, _chosen(impl, None))
    return key if config.enable_custom_prng.value else _data_of(key)


def _chosen(impl: Any, dtype: Any) -> PRNGImpl:
    if dtype is not None:
        if impl is not None:
            raise TypeError("give the bit generator by impl or by dtype, not by both")
        if not isinstance(dtype, KeyType):
            raise TypeError(f"dtype must be one of keys, as key_dtype() gives it; got {dtype!r}")
        return dtype.implementation
    return default_implementation() if impl is None else find_implementation(impl)


def _key(name: str, seed: Any, implementation: PRNGImpl) -> Any:
    if seed is None:
        raise ValueError("None is not a valid value for jnp.array: a seed is an integer")
    seed = _as_array(seed)
    if dtypes.is_extended(seed.dtype):
        raise TypeError(f"{name} accepts a scalar seed, but was given a PRNG key.")
    if np.ndim(seed):
        raise TypeError(
            f"{name} accepts a scalar seed, but was given an array of shape {np.shape(seed)} != "
            "(). Use olympus.vmap for batching"
        )
    if not (dtypes.issubdtype(seed.dtype, np.integer) or seed.dtype == np.bool_):
        raise TypeError(f"PRNG key seed must be an integer; got {seed!r}")
    offset = config_flags.random_seed_offset.value
    if isinstance(seed, np.ndarray | np.generic):
        if current.trace is evaluation_trace and implementation is threefry_implementation:
            return _threefry_key_on_host(int(seed) + offset)
        seed = np.asarray(seed).astype(dtypes.canonicalize_dtype(seed.dtype))
    if offset:
        seed = lax.add(seed, np.asarray(offset).astype(seed.dtype))
    return random_seed_p.bind(seed, impl=implementation)


def _as_array(seed: Any) -> Any:
    if isinstance(seed, int) and not isinstance(seed, bool):
        return np.int64(seed)  # this raises OverflowError beyond 64 bits
    if isinstance(seed, list | tuple):
        return np.asarray(seed)
    if isinstance(seed, Array) or hasattr(seed, "dtype"):
        return seed
    aval: Any = get_aval(seed)  # this raises TypeError for a non-array
    return np.asarray(seed, aval.dtype)


def _threefry_key_on_host(seed: int) -> ExtendedArray:
    """Returns the key of a concrete seed, without running a program."""
    high = seed >> 32 & 0xFFFFFFFF if config.enable_x64.value else 0
    words = np.array([high, seed & 0xFFFFFFFF], np.uint32)
    data = evaluator().array(words, ShapedArray((2,), np.uint32))
    return ExtendedArray(data, ShapedArray((), KeyType(threefry_implementation)))


# ---- keys from keys ----


def split(key: ArrayLike, num: int | tuple[int, ...] = 2) -> Array:
    """Splits a key into independent keys.

    Args:
      key: a single key, typed or as data.
      num: the number of keys, or the shape of an array of keys.

    Returns:
      An array of keys of shape ``num``; typed if ``key`` is typed, else data.

    Raises:
      TypeError: ``key`` is not a key.
      ValueError: ``key`` is an array of several keys.

    Example:
      >>> from olympus_random import key, split
      >>> first, second = split(key(0))
      >>> first
      Array((), dtype=key<fry>) overlaying:
      [1797259609 2579123966]
    """
    keys, is_data = check_key("split", key)
    shape = num if isinstance(num, tuple) else (integer_or_dim(num, "split: num"),)
    return _like_given(_split(keys, shape=sample_shape(shape)), is_data)


def fold_in(key: ArrayLike, data: ArrayLike) -> Array:
    """Makes a new key from a key and a number, such as a step or the index of a device.

    Args:
      key: a single key, typed or as data.
      data: an integer scalar from 0 to 2**32 - 1.

    Returns:
      A key; typed if ``key`` is typed, else data.

    Raises:
      TypeError: ``key`` is not a key, or ``data`` is not a scalar.
      ValueError: ``key`` is an array of several keys.
      OverflowError: ``data`` is a Python integer out of range.

    Example:
      >>> from olympus_random import fold_in, key
      >>> fold_in(key(0), 1)
      Array((), dtype=key<fry>) overlaying:
      [ 928981903 3453687069]
    """
    keys, is_data = check_key("fold_in", key)
    if not is_constant_dim(data):
        data = lax.size_array(data, np.uint32)
    elif not isinstance(data, Array):
        number: Any = data
        data = np.uint32(number)
    elif data.dtype != np.uint32:
        data = lax.convert_element_type(data, np.uint32)
    if np.ndim(data):
        raise TypeError(
            f"fold_in accepts a scalar, but was given an array of shape {np.shape(data)} != (). "
            "Use olympus.vmap for batching."
        )
    return _like_given(_fold_in(keys, data), is_data)


def clone(key: ArrayLike) -> Array:
    """Returns a copy of a key that counts as unused when the reuse of keys is checked.

    Args:
      key: a key or an array of keys, typed or as data.

    Returns:
      An array like ``key``.

    Raises:
      TypeError: ``key`` is not a key.

    Example:
      >>> from olympus_random import clone, key
      >>> clone(key(0)).dtype
      key<fry>
    """
    keys, is_data = check_keys(key)
    return _like_given(random_clone_p.bind(keys), is_data)


# Compiled functions return keys as data; the caller restores the typed keys.


@compiled("shape")
def _split_data(key: Any, *, shape: tuple[int, ...]) -> Any:
    return random_unwrap_p.bind(random_split_p.bind(key, shape=shape))


@compiled()
def _fold_in_data(key: Any, data: Any) -> Any:
    return random_unwrap_p.bind(random_fold_in_p.bind(key, data))


def _split(keys: Any, *, shape: tuple[int, ...]) -> Any:
    if (
        keys.__class__ is ExtendedArray
        and current.trace is evaluation_trace
        and not checks_reuse.value
    ):
        return ExtendedArray(_split_data(keys, shape=shape), ShapedArray(shape, keys.dtype))
    return random_split_p.bind(keys, shape=shape)


def _fold_in(keys: Any, data: Any) -> Any:
    if (
        keys.__class__ is ExtendedArray
        and current.trace is evaluation_trace
        and not checks_reuse.value
    ):
        return ExtendedArray(_fold_in_data(keys, data), keys.aval)
    return random_fold_in_p.bind(keys, data)


def _like_given(keys: Any, as_data: bool) -> Any:
    return _data_of(keys) if as_data else keys


def _data_of(keys: Any) -> Any:
    if keys.__class__ is ExtendedArray and current.trace is evaluation_trace:
        return keys.physical
    return random_unwrap_p.bind(keys)


# ---- conversion to and from data ----


def key_data(keys: ArrayLike) -> Array:
    """Returns the data of keys.

    Args:
      keys: typed keys, or data, which is returned unchanged.

    Returns:
      A uint32 array of shape (*keys.shape, k), with k = 2 for ``"threefry2x32"``.

    Raises:
      TypeError: ``keys`` are not keys.

    Example:
      >>> from olympus_random import key, key_data
      >>> key_data(key(43))
      Array([ 0, 43], dtype=uint32)
    """
    keys, _ = check_keys(keys)
    return _data_of(keys)


def wrap_key_data(
    key_bits_array: ArrayLike,
    *,
    impl: str | KeyType | PRNGImpl | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Makes typed keys from data.

    Args:
      key_bits_array: a uint32 array whose last dimension holds the data of one key.
      impl: the name of the keys' bit generator; the configured generator if None.
      dtype: a dtype of keys, in place of ``impl``; see `key_dtype`.

    Returns:
      A typed array of shape ``key_bits_array.shape[:-1]``.

    Raises:
      TypeError: the data of keys cannot have this shape or dtype.
      ValueError: the bit generator is unknown.

    Example:
      >>> import numpy as np
      >>> from olympus_random import wrap_key_data
      >>> wrap_key_data(np.zeros(2, np.uint32)).dtype
      key<fry>
    """
    if not isinstance(key_bits_array, Array):
        key_bits_array = np.asarray(key_bits_array)
        if current.trace is evaluation_trace and key_bits_array.dtype == np.uint32:
            key_bits_array = evaluator().array(key_bits_array, get_aval(key_bits_array))
    return wrap(key_bits_array, _chosen(impl, dtype))


def key_impl(keys: ArrayLike) -> str:
    """Returns the bit generator of keys, in a form that `key` takes as ``impl``.

    Args:
      keys: typed keys, or data of the configured generator.

    Returns:
      The name of the generator.

    Raises:
      TypeError: ``keys`` are not keys.

    Example:
      >>> from olympus_random import key, key_impl
      >>> key_impl(key(0))
      'threefry2x32'
    """
    typed_keys, _ = check_keys(keys)
    return typed_keys.dtype.implementation.name


def key_dtype(impl_spec: str | KeyType | PRNGImpl | None = None) -> KeyType:
    """Returns the dtype of the typed keys of a bit generator.

    Args:
      impl_spec: the name of the generator; the configured generator if None.

    Returns:
      A dtype such as ``key<fry>``.

    Raises:
      ValueError: the bit generator is unknown.

    Example:
      >>> from olympus_random import key_dtype
      >>> key_dtype()
      key<fry>
    """
    return KeyType(_chosen(impl_spec, None))
