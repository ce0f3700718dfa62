# SPDX-License-Identifier: Apache-2.0
"""Universal functions: elementwise functions that can also reduce, accumulate and update."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec

import numpy as np

from olympus_ir import eval_shape, lax
from olympus_ir.diagnostics.traceback_filtering import boundary_class
from olympus_ir.lax.core.axes import canonical_axis
from olympus_ir.loading import deferred
from olympus_ir.settings.naming import naming
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray

from ..arrays.creation import asarray
from ..core.axes import hashable_axes, requested_dtype
from ..core.compilation import compiled
from ..core.promotion import check_arraylike, convert, ensure_array, result_type_of

if TYPE_CHECKING:
    import olympus_batching

    from . import vectorization
else:
    vectorization = deferred(".vectorization", milliseconds=11.0)
    olympus_batching = deferred("olympus_batching", milliseconds=11.0)

__all__ = ["frompyfunc", "ufunc"]

P = ParamSpec("P")

_Kind = inspect.Parameter
# The signature that `inspect.signature` returns for a universal function. It describes calls of the
# universal function, rather than of the wrapped function.
_CALL_SIGNATURE = inspect.Signature(
    [
        _Kind("args", _Kind.VAR_POSITIONAL, annotation="ArrayLike"),
        _Kind("out", _Kind.KEYWORD_ONLY, default=None, annotation="None"),
        _Kind("where", _Kind.KEYWORD_ONLY, default=None, annotation="None"),
    ],
    return_annotation="Any",
)


@boundary_class
class ufunc(Generic[P]):
    """An elementwise function with the methods of NumPy's universal functions.

    Args:
      func: the function of ``nin`` elements.
      nin: the number of arrays that ``func`` takes.
      nout: the number of results.
      name: the name that is shown; by default the function's name.
      nargs: the value of the attribute ``nargs``; ``nin`` by default.
      identity: the result of a reduction of no elements; None if there is none.
      call: the function that a call runs, if ``func`` takes arrays of any shape. By default
        ``func`` takes elements, and calls apply it to each.
      reduce: the function that `reduce` runs; by default a loop.
      accumulate: the function that `accumulate` runs; by default a loop.
      at: the function that `at` runs; by default a loop.
      reduceat: the function that `reduceat` runs; by default a loop.

    Example:
      >>> from olympus_numpy import add, arange
      >>> add.reduce(arange(4)), add.accumulate(arange(4))
      (Array(6, dtype=int32), Array([0, 1, 3, 6], dtype=int32))
    """

    def __init__(
        self,
        func: Callable[P, ArrayLike],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: ArrayLike | None = None,
        call: Callable[..., Any] | None = None,
        reduce: Callable[..., Any] | None = None,
        accumulate: Callable[..., Any] | None = None,
        at: Callable[..., Any] | None = None,
        reduceat: Callable[..., Any] | None = None,
    ) -> None:
        self.__name__ = name or func.__name__
        self.__module__ = __name__  # public modules present ufuncs as their own
        self._defining = func
        if call is None:
            func = call = vectorization.elementwise(func)
        self.__qualname__ = self.__name__
        self.__doc__ = func.__doc__
        self.__wrapped__ = func
        self.__signature__ = _CALL_SIGNATURE
        self._function: Callable[..., Any] = func
        self._call = call
        self._reduce = reduce
        self._accumulate = accumulate
        self._at = at
        self._reduceat = reduceat
        self._nin = operator.index(nin)
        self._nout = operator.index(nout)
        self._nargs = nin if nargs is None else nargs
        self._identity = identity

    nin = property(lambda self: self._nin, doc="The number of arguments.")
    nout = property(lambda self: self._nout, doc="The number of results.")
    nargs = property(lambda self: self._nargs, doc="The number of arguments.")
    identity = property(
        lambda self: self._identity, doc="The result of a reduction of no elements, or None."
    )

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def __hash__(self) -> int:
        return hash(self._equality_key())

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, ufunc) and self._equality_key() == other._equality_key()
        )

    def _equality_key(self) -> tuple[Any, ...]:
        """Returns the properties by which universal functions are compared for equality."""
        return self._defining, self.__name__, self._identity, self._nin, self._nout

    if TYPE_CHECKING:  # the parameters of the wrapped function

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Array: ...

    else:

        def __call__(self, *args: ArrayLike, out: None = None, where: None = None) -> Array:
            """Broadcasts arrays against each other and applies the function to them."""
            if out is not None:
                raise NotImplementedError(f"out argument of {self}")
            if where is not None:
                raise NotImplementedError(f"where argument of {self}")
            if len(args) != self._nin:
                raise TypeError(self._wrong_number(len(args)))
            return self._call(*args)

    def _wrong_number(self, num_operands: int) -> str:
        """Returns the message for a call with the wrong number of arguments."""
        if num_operands > self._nin:
            plural = "" if self._nin == 1 else "s"
            return (
                f"{self.__name__}() takes {self._nin} positional argument{plural} "
                f"but {num_operands} were given"
            )
        parameters = list(inspect.signature(self._defining).parameters)[num_operands : self._nin]
        names = " and ".join(map(repr, parameters))
        count, plural = self._nin - num_operands, "" if self._nin - num_operands == 1 else "s"
        return f"{self.__name__}() missing {count} required positional argument{plural}: {names}"

    def _dtype_of_fold(self, method: str, dtype: Any, out: Any) -> Any:
        """Returns the dtype that was requested of a method which combines elements, or None."""
        if self._nin != 2:
            raise ValueError(f"{self.__name__}.{method} only supported for binary ufuncs")
        if self._nout != 1:
            raise ValueError(
                f"{self.__name__}.{method} only supported for functions returning a single value"
            )
        if out is not None:
            raise NotImplementedError(f"out argument of {self.__name__}.{method}()")
        return None if dtype is None else requested_dtype(f"{self.__name__}.{method}", dtype)

    def _result_dtype(self, *operands: Any) -> Any:
        """Returns the dtype of the function's result for scalars of the operands' dtypes."""

        def of_elements() -> Any:
            # Types of arguments would be narrowed under `explicit_x64_dtypes="allow"`.
            zeros = [np.zeros((), operand.dtype) for operand in operands]
            return self._function(*[lax.full((), zero) for zero in zeros])

        return eval_shape(of_elements).dtype

    def reduce(
        self,
        a: ArrayLike,
        axis: int | Sequence[int] | None = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        """Combines the elements along an axis.

        Args:
          a: an array.
          axis: the axis, or several; None for all.
          dtype: the dtype of the result.
          out: not supported.
          keepdims: whether the axes are kept with size one.
          initial: the value to begin with.
          where: a boolean mask of the elements to include.

        Returns:
          An array without the reduced axes, or with axes of size one.

        Raises:
          NotImplementedError: if ``out`` is given.
          ValueError: if the function is not binary with one result, if ``where`` is not boolean, or
            if ``where`` is given without ``initial`` for a function without identity.

        Example:
          >>> from olympus_numpy import add, array
          >>> add.reduce(array([[1, 2], [3, 4]]), axis=1)
          Array([3, 7], dtype=int32)
        """
        dtype = self._dtype_of_fold("reduce", dtype, out)
        if initial is not None:
            check_arraylike(f"{self.__name__}.reduce", initial)
        if where is not None:
            check_arraylike(f"{self.__name__}.reduce", where)
            if self._identity is None and initial is None:
                raise ValueError(
                    f"reduction operation {self.__name__!r} does not have an identity, so to use a "
                    "where mask one has to specify 'initial'."
                )
            where = ensure_array(where)
            if where.dtype != np.bool_:
                raise ValueError(f"where argument must have dtype=bool; got dtype={where.dtype}")
        axis = hashable_axes(f"{self.__name__}.reduce", axis)
        if self._reduce is not None:
            return self._reduce(
                a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where
            )
        return _compiled_method(self, "_loop_reduce", ("axis", "dtype", "keepdims"))(
            a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where
        )

    def _loop_reduce(
        self, a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any
    ) -> Any:
        check_arraylike(f"{self.__name__}.reduce", a)
        a = ensure_array(a)
        axes = _canonical_axes(axis, a.ndim)
        kept_shape = tuple(1 if d in axes else size for d, size in enumerate(a.shape))
        rest = [d for d in range(a.ndim) if d not in axes]
        shape = tuple(a.shape[d] for d in rest)
        length = math.prod(a.shape[d] for d in axes)

        def in_line(x: Any) -> Any:
            return lax.reshape(lax.transpose(x, (*axes, *rest)), (length, *shape))

        mask = None
        if where is not None:
            mask = in_line(
                lax.broadcast_in_dim(where, a.shape, tuple(range(a.ndim - where.ndim, a.ndim)))
            )
        a = in_line(a)
        a = convert(a, self._result_dtype(a, a) if dtype is None else dtype)
        if initial is None:
            initial = self._identity
        start = 0
        if initial is None:
            if length == 0:
                raise ValueError(
                    f"zero-size array to reduction operation {self.__name__} which has no identity"
                )
            carry, start = lax.index_in_dim(a, 0, 0, keepdims=False), 1
        else:
            carry = lax.broadcast(convert(ensure_array(initial), a.dtype), shape)

        def step(i: Any, carry: Any) -> Any:
            element = lax.dynamic_index_in_dim(a, i, 0, keepdims=False)
            combined = convert(self._function(carry, element), a.dtype)
            if mask is None:
                return combined
            return lax.select(lax.dynamic_index_in_dim(mask, i, 0, keepdims=False), combined, carry)

        result = convert(carry, a.dtype)
        if start < length:
            result = lax.fori_loop(start, length, step, result)
        return lax.reshape(result, kept_shape) if keepdims else result

    def accumulate(
        self, a: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: None = None
    ) -> Array:
        """Combines each element with all elements before it along an axis.

        Args:
          a: an array.
          axis: the axis.
          dtype: the dtype of the result.
          out: not supported.

        Returns:
          An array of the shape of ``a``.

        Raises:
          NotImplementedError: if ``out`` is given.
          ValueError: if the function is not binary with one result.

        Example:
          >>> from olympus_numpy import array, multiply
          >>> multiply.accumulate(array([1, 2, 3, 4]))
          Array([ 1,  2,  6, 24], dtype=int32)
        """
        dtype = self._dtype_of_fold("accumulate", dtype, out)
        if self._accumulate is not None:
            return self._accumulate(a, axis=axis, dtype=dtype)
        return _compiled_method(self, "_loop_accumulate", ("axis", "dtype"))(
            a, axis=axis, dtype=dtype
        )

    def _loop_accumulate(self, a: Any, *, axis: Any, dtype: Any) -> Any:
        check_arraylike(f"{self.__name__}.accumulate", a)
        a = ensure_array(a)
        a = convert(a, self._result_dtype(a, a) if dtype is None else dtype)
        if axis is None or isinstance(axis, tuple):
            raise ValueError("accumulate does not allow multiple axes")
        (axis,) = _canonical_axes(axis, a.ndim)
        a = _front(a, axis)
        if a.shape[0] == 0:
            return _back(a, axis)

        def step(carry: Any, element: Any) -> Any:
            carry = convert(self._function(carry, element), a.dtype)
            return carry, carry

        first = lax.index_in_dim(a, 0, 0, keepdims=False)
        _, others = lax.scan(step, first, lax.slice_in_dim(a, 1, None, axis=0))
        return _back(lax.concatenate([lax.expand_dims(first, (0,)), others], 0), axis)

    def at(
        self,
        a: ArrayLike,
        indices: Any,  # any index expression
        b: ArrayLike | None = None,
        /,
        *,
        inplace: bool = True,
    ) -> Array:
        """Applies the function at indices of an array, once for each occurrence of an index.

        Args:
          a: an array; it is not changed.
          indices: an index expression, as in ``a[indices]``.
          b: the second argument of a binary function.
          inplace: must be False, which confirms that the caller expects ``a`` to stay unchanged.

        Returns:
          An array of the shape of ``a``.

        Raises:
          NotImplementedError: unless ``inplace`` is False.
          TypeError: if ``b`` is missing for a binary function, or given for a unary one.

        Example:
          >>> from olympus_numpy import add, array
          >>> add.at(array([1, 2, 3]), array([0, 0]), 10, inplace=False)
          Array([21,  2,  3], dtype=int32)
        """
        if inplace:
            raise NotImplementedError(
                f"Because {naming.library} arrays are immutable, jnp.ufunc.at() cannot operate "
                "inplace like np.ufunc.at(). Instead, you can pass inplace=False and capture the "
                f"result; e.g.\n>>> arr = jnp.{self.__name__}.at(arr, ind, val, inplace=False)\n"
            )
        check_arraylike(f"{self.__name__}.at", a)
        a = asarray(a)
        count = 1 + (b is not None)
        if count != self._nin:
            raise TypeError(
                f"{self.__name__}.at() applies a function of {self._nin} positional "
                f"argument{'' if self._nin == 1 else 's'}, but {count} were given"
            )
        if self._at is not None:
            return self._at(a, indices, b)
        if self._nin == 1:
            return a.at[indices].apply(self._function)
        return self._loop_at(a, indices, b)

    def _loop_at(self, a: Any, indices: Any, b: Any) -> Any:
        """Computes `at` element by element, in order, since indices may repeat."""
        positions = lax.reshape(lax.iota(np.dtype(np.int32), math.prod(a.shape)), a.shape)[indices]
        b = asarray(b)
        dtype = self._result_dtype(a, b)
        a, b = convert(a, dtype), convert(b, dtype)
        shape = positions.shape
        values = lax.broadcast_in_dim(b, shape, tuple(range(len(shape) - b.ndim, len(shape))))
        count = math.prod(shape)
        if not count:
            return a
        values, positions = lax.reshape(values, (count,)), lax.reshape(positions, (count,))
        flat = lax.reshape(a, (math.prod(a.shape),))

        def step(i: Any, flat: Any) -> Any:
            position = lax.dynamic_index_in_dim(positions, i, 0, keepdims=False)
            old = lax.dynamic_index_in_dim(flat, position, 0, keepdims=False)
            new = self._function(old, lax.dynamic_index_in_dim(values, i, 0, keepdims=False))
            return lax.dynamic_update_index_in_dim(flat, convert(new, flat.dtype), position, 0)

        return lax.reshape(lax.fori_loop(0, count, step, flat), a.shape)

    def reduceat(
        self,
        a: ArrayLike,
        indices: ArrayLike,
        axis: int = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Array:
        """Reduces slices along an axis.

        Each slice runs from one index to the next, and the last slice to the end of the axis.
        If an index is not below the next one, the result is the element at that index.

        Args:
          a: an array.
          indices: the beginnings of the slices, an array of one dimension.
          axis: the axis.
          dtype: the dtype of the result.
          out: not supported.

        Returns:
          An array whose size along the axis is the number of indices.

        Raises:
          NotImplementedError: if ``out`` is given.
          ValueError: if ``indices`` is not a vector of integers, or ``axis`` is not one integer.

        Example:
          >>> from olympus_numpy import add, array
          >>> add.reduceat(array([1, 2, 3, 4]), array([0, 2]))
          Array([3, 7], dtype=int32)
        """
        dtype = self._dtype_of_fold("reduceat", dtype, out)
        check_arraylike(f"{self.__name__}.reduceat", a, indices)
        a, indices = ensure_array(a), ensure_array(indices)
        if indices.ndim != 1:
            raise ValueError(
                f"reduceat: indices must be one-dimensional, got indices.shape={indices.shape}"
            )
        if not dtypes.issubdtype(indices.dtype, np.integer):
            raise ValueError(
                f"reduceat: indices must have an integer type, got {dtypes.name_of(indices.dtype)}"
            )
        if self._reduceat is not None:
            return self._reduceat(a, indices, axis=axis, dtype=dtype)
        return self._loop_reduceat(a, indices, axis, dtype)

    def _loop_reduceat(self, a: Array, indices: Array, axis: Any, dtype: Any) -> Array:
        """Computes `reduceat` with a loop over the whole axis for each slice."""
        if dtype is None:
            dtype, _ = result_type_of(a, ShapedArray((), self._result_dtype(a, a)))
        a = convert(a, dtype)
        if axis is None or isinstance(axis, tuple | list):
            raise ValueError("reduceat requires a single integer axis.")
        (axis,) = _canonical_axes(axis, a.ndim)
        a = _front(a, axis)
        length = a.shape[0]
        if length == 0:
            raise IndexError(
                f"{self.__name__}.reduceat: Cannot do a non-empty jnp.take() from an empty axis."
            )
        if indices.shape[0] == 0:
            return _back(lax.slice_in_dim(a, 0, 0, axis=0), axis)
        ends = lax.concatenate(
            [lax.slice_in_dim(indices, 1, None, axis=0), np.full((1,), length, indices.dtype)], 0
        )

        def reduce_slice(start: Any, end: Any) -> Any:
            first = lax.dynamic_index_in_dim(a, start, 0, keepdims=False)

            def step(i: Any, carry: Any) -> Any:
                position = convert(i, start.dtype)
                inside = lax.bitwise_and(lax.gt(position, start), lax.lt(position, end))
                combined = self._function(carry, lax.dynamic_index_in_dim(a, i, 0, keepdims=False))
                return lax.select_n(inside, carry, convert(combined, a.dtype))

            return lax.fori_loop(0, length, step, first)

        reduce_slices = olympus_batching.vmap(reduce_slice)
        indices, ends = (convert(x, np.dtype(np.int32)) for x in (indices, ends))
        return _back(reduce_slices(indices, ends), axis)

    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array:
        """Applies the function to all pairs of an element of ``A`` and an element of ``B``.

        Args:
          A: an array.
          B: an array.

        Returns:
          An array of shape ``A.shape + B.shape``.

        Raises:
          ValueError: if the function is not binary with one result.

        Example:
          >>> from olympus_numpy import array, multiply
          >>> multiply.outer(array([1, 2]), array([3, 4]))
          Array([[3, 4],
                 [6, 8]], dtype=int32)
        """
        if self._nin != 2:
            raise ValueError("outer only supported for binary ufuncs")
        if self._nout != 1:
            raise ValueError("outer only supported for functions returning a single value")
        check_arraylike(f"{self.__name__}.outer", A, B)
        A, B = ensure_array(A), ensure_array(B)
        A = lax.reshape(A, (*A.shape, *(1,) * B.ndim))
        return self._call(A, lax.broadcast_to_rank(B, A.ndim))


# The compiled methods of each ufunc, made when they are first used.
_methods: dict[tuple[int, str], Any] = {}


def _compiled_method(function: ufunc, method: str, static_argnames: tuple[str, ...]) -> Any:
    key = (id(function), method)
    if key not in _methods:
        _methods[key] = compiled(
            getattr(function, method), static_argnames, name=f"{function.__name__}{method}"
        )
    return _methods[key]


def _canonical_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(canonical_axis(dim, ndim) for dim in axes)


def _front(x: Any, axis: int) -> Array:
    return lax.transpose(x, (axis, *(d for d in range(x.ndim) if d != axis)))


def _back(x: Any, axis: int) -> Array:
    order = list(range(1, x.ndim))
    order.insert(axis, 0)
    return lax.transpose(x, tuple(order))


def frompyfunc(
    func: Callable[..., Any], /, nin: int, nout: int, *, identity: ArrayLike | None = None
) -> ufunc[...]:
    """Returns a `ufunc` that applies a function of scalars elementwise.

    Args:
      func: a traceable function of ``nin`` scalars.
      nin: the number of arguments.
      nout: the number of results.
      identity: the result of a reduction of no elements.

    Returns:
      A `ufunc`.

    Raises:
      TypeError: if ``func`` is not callable.

    Example:
      >>> from olympus_numpy import arange
      >>> frompyfunc(lambda x, y: x + 2 * y, 2, 1)(arange(3), 1)
      Array([2, 3, 4], dtype=int32)
    """
    if not callable(func):
        raise TypeError(f"frompyfunc: func must be a function, got {func!r}")
    nin, nout = operator.index(nin), operator.index(nout)
    return ufunc(func, nin, nout, name=getattr(func, "__name__", "frompyfunc"), identity=identity)
