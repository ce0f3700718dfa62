# SPDX-License-Identifier: Apache-2.0
"""Interface of arrays for type checkers: attributes, methods and operators with their types.

The class of arrays is written in C++, and olympus-numpy attaches NumPy's methods to it when it is
imported. Type checkers see neither. They read this file in its place; no program imports it. A test
compares its members with those of the class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from .annotations import ArrayLike, DTypeLike, PyTree, Shape

Axes = int | Sequence[int] | None


class Array:
    """Type of arrays: those with values, and tracers, which stand for arrays in a program."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def weak_type(self) -> bool: ...
    @property
    def aval(self) -> Any: ...
    @property
    def T(self) -> Array: ...
    @property
    def mT(self) -> Array: ...
    @property
    def real(self) -> Array: ...
    @property
    def imag(self) -> Array: ...
    @property
    def flat(self) -> Any: ...
    @property
    def at(self) -> IndexUpdates: ...

    # Placement. Tracers have some of these members only.
    @property
    def device(self) -> Any: ...
    @property
    def sharding(self) -> Any: ...
    @property
    def format(self) -> Any: ...
    @property
    def committed(self) -> bool: ...
    @property
    def is_fully_addressable(self) -> bool: ...
    @property
    def is_fully_replicated(self) -> bool: ...
    @property
    def addressable_shards(self) -> list[Any]: ...
    @property
    def global_shards(self) -> list[Any]: ...
    @property
    def traceback(self) -> Any: ...
    def addressable_data(self, index: int) -> Array: ...
    def devices(self) -> set[Any]: ...
    def block_until_ready(self) -> Array: ...
    def copy_to_host_async(self) -> None: ...
    def delete(self) -> None: ...
    def is_deleted(self) -> bool: ...
    def is_ready(self) -> bool: ...
    def on_device_size_in_bytes(self) -> int: ...
    def to_device(self, device: Any, *, stream: Any = None) -> Array: ...
    def unsafe_buffer_pointer(self) -> int: ...

    # Methods of NumPy's arrays.
    def all(
        self,
        axis: Axes = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Array: ...
    def any(
        self,
        axis: Axes = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Array: ...
    def argmax(
        self, axis: int | None = None, out: None = None, keepdims: bool | None = None
    ) -> Array: ...
    def argmin(
        self, axis: int | None = None, out: None = None, keepdims: bool | None = None
    ) -> Array: ...
    def argpartition(self, kth: int, axis: int = -1) -> Array: ...
    def argsort(
        self,
        axis: int | None = -1,
        *,
        kind: None = None,
        order: None = None,
        stable: bool = True,
        descending: bool = False,
    ) -> Array: ...
    def astype(self, dtype: DTypeLike | None, copy: bool = False, device: Any = None) -> Array: ...
    def byteswap(self) -> Array: ...
    def choose(
        self, choices: Array | Sequence[ArrayLike], out: None = None, mode: str = "raise"
    ) -> Array: ...
    def clip(self, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array: ...
    def compress(
        self,
        condition: ArrayLike,
        axis: int | None = None,
        *,
        out: None = None,
        size: int | None = None,
        fill_value: ArrayLike = 0,
    ) -> Array: ...
    def conj(self) -> Array: ...
    def conjugate(self) -> Array: ...
    def copy(self) -> Array: ...
    def cumprod(
        self, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
    ) -> Array: ...
    def cumsum(
        self, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
    ) -> Array: ...
    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array: ...
    def dot(
        self,
        b: ArrayLike,
        *,
        precision: Any = None,
        preferred_element_type: DTypeLike | None = None,
    ) -> Array: ...
    def flatten(self, order: str = "C", *, out_sharding: Any = None) -> Array: ...
    def item(self, *args: int) -> bool | int | float | complex: ...
    def max(
        self,
        axis: Axes = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array: ...
    def mean(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Array: ...
    def min(
        self,
        axis: Axes = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array: ...
    def nonzero(
        self, *, fill_value: ArrayLike | None = None, size: int | None = None
    ) -> tuple[Array, ...]: ...
    def prod(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
        promote_integers: bool = True,
    ) -> Array: ...
    def ptp(self, axis: Axes = None, out: None = None, keepdims: bool = False) -> Array: ...
    def ravel(self, order: str = "C", *, out_sharding: Any = None) -> Array: ...
    def repeat(
        self,
        repeats: ArrayLike,
        axis: int | None = None,
        *,
        total_repeat_length: int | None = None,
        out_sharding: Any = None,
    ) -> Array: ...
    def reshape(
        self, *args: int | Shape, order: str = "C", out_sharding: Any = None
    ) -> Array: ...
    def round(self, decimals: int = 0, out: None = None) -> Array: ...
    def searchsorted(
        self,
        v: ArrayLike,
        side: str = "left",
        sorter: ArrayLike | None = None,
        *,
        method: str = "scan",
    ) -> Array: ...
    def sort(
        self,
        axis: int | None = -1,
        *,
        kind: None = None,
        order: None = None,
        stable: bool = True,
        descending: bool = False,
    ) -> Array: ...
    def squeeze(self, axis: Axes = None) -> Array: ...
    def std(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        ddof: int = 0,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
        correction: float | None = None,
    ) -> Array: ...
    def sum(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
        promote_integers: bool = True,
    ) -> Array: ...
    def swapaxes(self, axis1: int, axis2: int) -> Array: ...
    def take(
        self,
        indices: ArrayLike,
        axis: int | None = None,
        out: None = None,
        mode: str | None = None,
        unique_indices: bool = False,
        indices_are_sorted: bool = False,
        fill_value: ArrayLike | None = None,
    ) -> Array: ...
    def tolist(self) -> Any: ...
    def trace(
        self,
        offset: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Array: ...
    def transpose(self, *args: int | Sequence[int] | None) -> Array: ...
    def var(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        ddof: int = 0,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
        correction: float | None = None,
    ) -> Array: ...
    def view(self, dtype: DTypeLike | None = None, type: None = None) -> Array: ...

    # Protocols of Python and of other libraries.
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Array]: ...
    def __contains__(self, value: ArrayLike) -> bool: ...
    def __getitem__(self, index: Any) -> Array: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> int: ...
    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray: ...
    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, int]: ...

    # Operators.
    def __eq__(self, other: ArrayLike) -> Array: ...  # type: ignore[override]
    def __ne__(self, other: ArrayLike) -> Array: ...  # type: ignore[override]
    def __lt__(self, other: ArrayLike) -> Array: ...
    def __le__(self, other: ArrayLike) -> Array: ...
    def __gt__(self, other: ArrayLike) -> Array: ...
    def __ge__(self, other: ArrayLike) -> Array: ...
    def __neg__(self) -> Array: ...
    def __pos__(self) -> Array: ...
    def __abs__(self) -> Array: ...
    def __invert__(self) -> Array: ...
    def __round__(self, ndigits: int = 0) -> Array: ...
    def __add__(self, other: ArrayLike) -> Array: ...
    def __radd__(self, other: ArrayLike) -> Array: ...
    def __sub__(self, other: ArrayLike) -> Array: ...
    def __rsub__(self, other: ArrayLike) -> Array: ...
    def __mul__(self, other: ArrayLike) -> Array: ...
    def __rmul__(self, other: ArrayLike) -> Array: ...
    def __truediv__(self, other: ArrayLike) -> Array: ...
    def __rtruediv__(self, other: ArrayLike) -> Array: ...
    def __floordiv__(self, other: ArrayLike) -> Array: ...
    def __rfloordiv__(self, other: ArrayLike) -> Array: ...
    def __mod__(self, other: ArrayLike) -> Array: ...
    def __rmod__(self, other: ArrayLike) -> Array: ...
    def __divmod__(self, other: ArrayLike) -> tuple[Array, Array]: ...
    def __rdivmod__(self, other: ArrayLike) -> tuple[Array, Array]: ...
    def __pow__(self, other: ArrayLike) -> Array: ...
    def __rpow__(self, other: ArrayLike) -> Array: ...
    def __matmul__(self, other: ArrayLike) -> Array: ...
    def __rmatmul__(self, other: ArrayLike) -> Array: ...
    def __and__(self, other: ArrayLike) -> Array: ...
    def __rand__(self, other: ArrayLike) -> Array: ...
    def __or__(self, other: ArrayLike) -> Array: ...
    def __ror__(self, other: ArrayLike) -> Array: ...
    def __xor__(self, other: ArrayLike) -> Array: ...
    def __rxor__(self, other: ArrayLike) -> Array: ...
    def __lshift__(self, other: ArrayLike) -> Array: ...
    def __rlshift__(self, other: ArrayLike) -> Array: ...
    def __rshift__(self, other: ArrayLike) -> Array: ...
    def __rrshift__(self, other: ArrayLike) -> Array: ...


class IndexUpdates(Protocol):
    """Type of ``x.at``."""

    def __getitem__(self, index: Any) -> IndexUpdate: ...


class IndexUpdate(Protocol):
    """Type of ``x.at[index]``, with one method for each update; each returns a new array."""

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: ArrayLike | None = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array: ...
    def set(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array: ...
    def add(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array: ...
    def subtract(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array: ...
    def mul(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array: ...
    def multiply(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array: ...
    def divide(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array: ...
    def power(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array: ...
    def min(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array: ...
    def max(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array: ...
    def apply(
        self,
        ufunc: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array: ...
