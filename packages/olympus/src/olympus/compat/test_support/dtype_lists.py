# SPDX-License-Identifier: Apache-2.0
"""Lists of dtypes that tests run with, and conversions to default dtypes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import ml_dtypes
import numpy as np

from olympus_ir.settings.config_states import enable_x64, numpy_dtype_promotion
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes as _dtypes
from olympus_numpy.core.promotion import promote_dtypes, promote_dtypes_inexact

from .devices import device_under_test

__all__ = [
    "dtypes",
    "num_float_bits",
    "promote_like_jnp",
    "strict_promotion_if_dtypes_match",
    "supported_dtypes",
    "to_default_dtype",
    "with_jax_dtype_defaults",
]

_WIDE = frozenset([np.int64, np.uint64, np.float64, np.complex128])
_COMMON = frozenset(
    [
        *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32),
        *(np.uint64, ml_dtypes.bfloat16, np.float16, np.float32, np.float64, np.complex64),
        np.complex128,
    ]
)
_FURTHER = {
    "cpu": frozenset([ml_dtypes.int4, ml_dtypes.uint4]),
    "gpu": frozenset([ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]),
    "tpu": frozenset(
        [
            *(ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2),
            ml_dtypes.float8_e4m3b11fnuz,
        ]
    ),
}


def supported_dtypes() -> set[Any]:
    """Returns the dtypes of the default device that the current settings allow."""
    platform = device_under_test()
    found = set(_COMMON | _FURTHER.get(platform, frozenset()))
    return found if enable_x64.value and platform != "tpu" else found - _WIDE


class _DtypeLists:
    """Lists of dtypes by kind, without those that are not supported.

    They are made when first read, because reading them starts the client of the devices.
    """

    def supported(self, candidates: Iterable[Any]) -> list[Any]:
        """Returns those of the dtypes that are supported."""
        found = supported_dtypes()
        return [dtype for dtype in candidates if dtype in found]

    @functools.cached_property
    def custom_floats(self) -> list[Any]:
        return self.supported(np.dtype(dtype).type for dtype in _dtypes.small_floats)

    @functools.cached_property
    def floating(self) -> list[Any]:
        return self.supported([np.float32, np.float64])

    @functools.cached_property
    def all_floating(self) -> list[Any]:
        return self.supported([ml_dtypes.bfloat16, np.float16, np.float32, np.float64])

    @functools.cached_property
    def integer(self) -> list[Any]:
        return self.supported([np.int32, np.int64])

    @functools.cached_property
    def all_integer(self) -> list[Any]:
        return self.supported([np.int8, np.int16, np.int32, np.int64])

    @functools.cached_property
    def unsigned(self) -> list[Any]:
        return self.supported([np.uint32, np.uint64])

    @functools.cached_property
    def all_unsigned(self) -> list[Any]:
        return self.supported([np.uint8, np.uint16, np.uint32, np.uint64])

    @functools.cached_property
    def complex(self) -> list[Any]:
        return self.supported([np.complex64, np.complex128])

    @functools.cached_property
    def boolean(self) -> list[Any]:
        return self.supported([np.bool_])

    @property
    def inexact(self) -> list[Any]:
        return self.floating + self.complex

    @property
    def all_inexact(self) -> list[Any]:
        return self.all_floating + self.complex

    @property
    def numeric(self) -> list[Any]:
        return self.floating + self.integer + self.unsigned + self.complex

    @property
    def all(self) -> list[Any]:
        numbers = self.all_floating + self.all_integer + self.all_unsigned + self.complex
        return numbers + self.boolean


dtypes = _DtypeLists()


def num_float_bits(dtype: Any) -> int:
    """Returns the number of bits of a floating dtype under the current settings."""
    return _dtypes.finfo(_dtypes.canonicalize_dtype(dtype)).bits


_DEFAULTS = {
    "b": lambda: np.dtype(bool),
    "i": _dtypes.default_int_dtype,
    "u": _dtypes.default_uint_dtype,
    "f": _dtypes.default_float_dtype,
    "c": _dtypes.default_complex_dtype,
}


def to_default_dtype(arr: Any) -> np.ndarray:
    """Returns a NumPy array of the default dtype of its kind, such as float32 for floats."""
    array = np.asarray(arr)
    default = _DEFAULTS.get(array.dtype.kind)
    return array if default is None else array.astype(default())


def with_jax_dtype_defaults(func: Callable[..., Any], use_defaults: Any = True) -> Any:
    """Returns a function of NumPy whose results have default dtypes.

    Args:
      func: the function.
      use_defaults: whether to convert the results; a truth value for all results, or a pytree of
        them.
    """

    def convert(value: Any, use_default: bool) -> Any:
        return to_default_dtype(value) if use_default else value

    @functools.wraps(func)
    def converted(*args: Any, **kwargs: Any) -> Any:
        results = func(*args, **kwargs)
        if isinstance(use_defaults, bool):
            return pytrees.tree_map(lambda value: convert(value, use_defaults), results)
        return pytrees.tree_map(convert, results, use_defaults)

    return converted


def promote_like_jnp(fun: Callable[..., Any], inexact: bool = False) -> Callable[..., Any]:
    """Returns a function of NumPy whose arguments are promoted as those of `olympus.numpy`.

    Args:
      fun: the function.
      inexact: whether to promote integers to floats.
    """
    promote = promote_dtypes_inexact if inexact else promote_dtypes

    def promoted(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = pytrees.tree_flatten(args)
        return fun(*pytrees.tree_unflatten(tree, promote(*leaves)), **kwargs)

    return promoted


def strict_promotion_if_dtypes_match(dtypes: Sequence[Any]) -> AbstractContextManager[None]:
    """Returns a context of strict promotion if the dtypes are equal, of standard one otherwise."""
    is_one = all(dtype == dtypes[0] for dtype in dtypes)
    return numpy_dtype_promotion("strict" if is_one else "standard")
