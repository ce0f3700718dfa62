# SPDX-License-Identifier: Apache-2.0
"""Primitives on typed keys, and their expansions to the functions of the bit generators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.primitives import instruction
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_ir.types.extended_arrays import logical_aval, physical_aval

from ..generators.implementations import KeyType, PRNGImpl

__all__ = [
    "random_bits_p",
    "random_clone_p",
    "random_fold_in_p",
    "random_seed_p",
    "random_split_p",
    "random_unwrap_p",
    "random_wrap_p",
]

random_seed_p = instruction("random_seed", family="random")
random_split_p = instruction("random_split", family="random")
random_fold_in_p = instruction("random_fold_in", family="random")
random_bits_p = instruction("random_bits", family="random")
random_wrap_p = instruction("random_wrap", family="random")
random_unwrap_p = instruction("random_unwrap", family="random")
random_clone_p = instruction("random_clone", family="random")


def _implementation_of(primitive_name: str, keys: ShapedArray) -> PRNGImpl:
    if not isinstance(keys.dtype, KeyType):
        raise TypeError(f"{primitive_name} takes typed keys, got {keys.str_short()}")
    return keys.dtype.implementation


def _of_each_key(fun: Callable[..., Any], ndim: int) -> Callable[..., Any]:
    """Vectorizes a function of the data of one key over ``ndim`` dimensions of keys."""
    for _ in range(ndim):
        fun = vmap(fun)
    return fun


# ---- conversion to and from data ----


@random_wrap_p.def_abstract_eval
def _random_wrap_type(data: ShapedArray, *, impl: PRNGImpl) -> ShapedArray:
    return logical_aval(data, KeyType(impl))


@random_unwrap_p.def_abstract_eval
def _random_unwrap_type(keys: ShapedArray) -> ShapedArray:
    _implementation_of("random_unwrap", keys)
    return physical_aval(keys)


@random_clone_p.def_abstract_eval
def _random_clone_type(keys: ShapedArray) -> ShapedArray:
    return keys


@expansion_rules.define(random_wrap_p)
def _random_wrap(data: Any, *, impl: PRNGImpl) -> Any:
    return lax.to_edtype(data, KeyType(impl))


@expansion_rules.define(random_unwrap_p)
def _random_unwrap(keys: Any) -> Any:
    return lax.from_edtype(keys)


@expansion_rules.define(random_clone_p)
def _random_clone(keys: Any) -> Any:
    return lax.to_edtype(lax.from_edtype(keys), keys.dtype)


# ---- seeds ----


@random_seed_p.def_abstract_eval
def _random_seed_type(seeds: ShapedArray, *, impl: PRNGImpl) -> ShapedArray:
    return ShapedArray(seeds.shape, KeyType(impl))


@expansion_rules.define(random_seed_p)
def _random_seed(seeds: Any, *, impl: PRNGImpl) -> Any:
    data = _of_each_key(impl.seed, get_aval(seeds).ndim)(seeds)
    return lax.to_edtype(data, KeyType(impl))


# ---- splitting and folding in ----


@random_split_p.def_abstract_eval
def _random_split_type(keys: ShapedArray, *, shape: tuple[int, ...]) -> ShapedArray:
    _implementation_of("random_split", keys)
    return ShapedArray((*keys.shape, *shape), keys.dtype)


@expansion_rules.define(random_split_p)
def _random_split(keys: Any, *, shape: tuple[int, ...]) -> Any:
    split = keys.dtype.implementation.split
    data = _of_each_key(lambda data: split(data, shape), keys.ndim)(lax.from_edtype(keys))
    return lax.to_edtype(data, keys.dtype)


@random_fold_in_p.def_abstract_eval
def _random_fold_in_type(keys: ShapedArray, data: ShapedArray) -> ShapedArray:
    _implementation_of("random_fold_in", keys)
    if data.shape and keys.shape and data.shape != keys.shape:
        raise ShapeError(
            "random_fold_in takes as many numbers as keys, or one of either, got "
            f"{keys.str_short()} and {data.str_short()}"
        )
    return ShapedArray(keys.shape or data.shape, keys.dtype)


@expansion_rules.define(random_fold_in_p)
def _random_fold_in(keys: Any, data: Any) -> Any:
    fold_in = keys.dtype.implementation.fold_in
    ndim, data_ndim = keys.ndim, get_aval(data).ndim
    words = lax.convert_element_type(data, np.uint32)
    in_axes = (0 if ndim else None, 0 if data_ndim else None)
    for _ in range(max(ndim, data_ndim)):
        fold_in = vmap(fold_in, in_axes=in_axes)
    return lax.to_edtype(fold_in(lax.from_edtype(keys), words), keys.dtype)


# ---- bits ----


@random_bits_p.def_abstract_eval
def _random_bits_type(keys: ShapedArray, *, bit_width: int, shape: tuple[int, ...]) -> ShapedArray:
    _implementation_of("random_bits", keys)
    return ShapedArray((*keys.shape, *shape), np.dtype(f"uint{bit_width}"))


@expansion_rules.define(random_bits_p)
def _random_bits(keys: Any, *, bit_width: int, shape: tuple[int, ...]) -> Any:
    random_bits = keys.dtype.implementation.random_bits
    of_one = lambda data: random_bits(data, bit_width, shape)  # noqa: E731
    return _of_each_key(of_one, keys.ndim)(lax.from_edtype(keys))
