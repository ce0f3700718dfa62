# SPDX-License-Identifier: Apache-2.0
"""Base class and static properties of sparse arrays of all formats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np

import olympus_numpy as jnp
from olympus_ir.diagnostics.traceback_filtering import api_boundary, boundary_class
from olympus_ir.programs.tracing import Tracer
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import canonicalize_shape, get_aval

__all__ = ["OLYMPUSSparse", "SparseInfo", "as_flag", "buffers_of"]


class SparseInfo(NamedTuple):
    """Static properties of a sparse array.

    Attributes:
      shape: the shape of the array.
      indices_sorted: whether entries are in lexicographic order of coordinates.
      unique_indices: whether the coordinates of entries are distinct.
    """

    shape: tuple[int, ...]
    indices_sorted: bool = False
    unique_indices: bool = False


def split_shape(
    shape: tuple[int, ...], n_batch: int, n_sparse: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Returns the batch, sparse and dense dimensions of a shape."""
    first_dense = n_batch + n_sparse
    return shape[:n_batch], shape[n_batch:first_dense], shape[first_dense:]


@boundary_class
class OLYMPUSSparse:
    """Base class of sparse arrays.

    A sparse array is a pytree of buffers: the values, ``data``, and arrays of indices.

    Args:
      args: the buffers.
      shape: the shape of the array.
    """

    # For operators with a NumPy array on the left, NumPy calls the method of the sparse array.
    __array_priority__: ClassVar[int] = 100
    __array_ufunc__: ClassVar[None] = None
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    data: Any
    shape: tuple[int, ...]

    def __init__(self, args: tuple[Any, ...], *, shape: Sequence[int]) -> None:
        self.shape = tuple(canonicalize_shape(shape))

    # ---- static properties ----

    @property
    def size(self) -> int:
        """The number of elements, zeros included."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def nse(self) -> int:
        """The number of specified (stored) elements in each batch."""
        raise self._unsupported("nse")

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self.data.dtype

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            sizes = ", ".join(map(str, self.shape))
            text = f"{dtypes.name_of(self.dtype)}[{sizes}], nse={self.nse}"
            for kind in ("n_batch", "n_dense"):
                if getattr(self, kind, 0):
                    text += f", {kind}={getattr(self, kind)}"
        except (AttributeError, IndexError, TypeError):
            # The buffers of a pytree may be other objects than arrays, such as axes or shardings.
            return f"{name}(<invalid>)"
        buffer = self.data
        if not hasattr(buffer, "_trace"):
            return f"{name}({text})"
        return f"{type(buffer).__name__}[{name}({text})]"

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"{self!r} is not converted to a dense array implicitly; use its method todense, or "
            "sparse.todense"
        )

    # ---- buffers ----

    def tree_flatten(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the buffers and the static properties."""
        raise self._unsupported("tree_flatten")

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Any) -> Any:
        """Makes an array from the result of `tree_flatten`, without checks."""
        raise NotImplementedError(f"{cls}.tree_unflatten")

    def block_until_ready(self) -> Any:
        """Waits until the buffers have been computed."""
        for buffer in self.tree_flatten()[0]:
            buffer.block_until_ready()
        return self

    # ---- operations, which a format need not have ----

    def _unsupported(self, operation: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self)}.{operation}: this format does not support it. "
            "BCOO supports most operations; `sparse.todense` gives a dense array."
        )

    def todense(self) -> Any:
        """Returns the dense array."""
        raise self._unsupported("todense")

    def transpose(self, axes: Sequence[int] | None = None) -> Any:
        """Returns the array with its dimensions in another order."""
        raise self._unsupported("transpose")

    @property
    def T(self) -> Any:
        """The array with its dimensions in reverse order."""
        return self.transpose()

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        """Returns sums along axes."""
        raise self._unsupported("sum")

    def __getitem__(self, index: Any) -> Any:
        raise self._unsupported("__getitem__")


def _refusing(operator: str) -> Any:
    def method(self: OLYMPUSSparse, *operands: Any) -> NoReturn:
        raise self._unsupported(operator)

    method.__name__ = operator
    method.__qualname__ = f"OLYMPUSSparse.{operator}"
    return api_boundary(method)


for _operator in (
    *("__neg__", "__pos__", "__add__", "__radd__", "__sub__", "__rsub__"),
    *("__mul__", "__rmul__", "__matmul__", "__rmatmul__"),
):
    setattr(OLYMPUSSparse, _operator, _refusing(_operator))


def buffers_of(function: str, kind: type[Any], mat: Any) -> list[Any]:
    """Returns the buffers of a sparse array of one format, as arrays.

    Raises:
      TypeError: ``mat`` has another format.
    """
    if not isinstance(mat, kind):
        raise TypeError(
            f"{function} takes a {kind.__name__} array, got {mat!r} of type {type(mat).__name__}."
        )
    return [jnp.asarray(buffer) for buffer in mat._bufs]


def as_flag(function: str, name: str, value: Any) -> bool:
    """Returns the truth value of an option.

    Raises:
      TypeError: the option is traced, or an array with dimensions.
    """
    is_array = isinstance(value, np.ndarray | Array) and value.ndim > 0
    if is_array or isinstance(value, Tracer):
        raise TypeError(
            f"{function}: `{name}` must be True or False, which the compiled program depends on, "
            f"got an array of type {get_aval(value)}"
        )
    return bool(value)
