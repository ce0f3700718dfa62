# SPDX-License-Identifier: Apache-2.0
"""Elementwise selection between values: `where`, `select`, `clip` and `piecewise`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..core.compilation import compiled
from ..core.promotion import (
    broadcast_shapes,
    check_arraylike,
    convert,
    ensure_array,
    promote_args,
    promote_dtypes,
    result_type_of,
    spread,
)
from .creation import asarray
from .filling import zeros
from .nonzero import nonzero

__all__ = ["clip", "piecewise", "select", "where"]


@overload
def where(
    condition: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array: ...
@overload
def where(
    condition: ArrayLike,
    x: None = None,
    y: None = None,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> tuple[Array, ...]: ...
def where(
    condition: ArrayLike,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Any:
    """Returns elements of ``x`` where the condition holds, and of ``y`` elsewhere.

    With the condition alone, returns the indices where it holds, as `nonzero` does.

    Args:
      condition: an array; numbers count as true where they are not zero.
      x: an array or scalar.
      y: an array or scalar.
      size: the number of indices to return, with the condition alone. If it is given, the condition
        may be traced.
      fill_value: the index that fills up the result if the condition holds for fewer elements.

    Returns:
      An array of the common dtype of ``x`` and ``y``, of the shape that all three broadcast to.
      With the condition alone, a tuple of integer arrays, one for each dimension.

    Raises:
      ValueError: if ``size`` or ``fill_value`` is given with ``x`` and ``y``.
      TypeError: if only one of ``x`` and ``y`` is given.
      ConcretizationTypeError: if only the condition is given, and it is traced, without ``size``.

    Example:
      >>> where(asarray([True, False, True]), asarray([1, 2, 3]), 0)
      Array([1, 0, 3], dtype=int32)
    """
    if x is None and y is None:
        check_arraylike("where", condition)
        return nonzero(condition, size=size, fill_value=fill_value)
    if size is not None or fill_value is not None:
        raise ValueError(
            "where: `size` and `fill_value` are for calls with the condition alone, which return "
            "indices; with `x` and `y` the result has the shape of the operands."
        )
    if x is None or y is None:
        raise TypeError(
            "where takes either the condition alone, or all of the condition, `x` and `y`."
        )
    return _where(condition, x, y)


def _where_of_three(condition: Any, x: Any, y: Any) -> Any:
    check_arraylike("where", condition, x, y)
    condition, x, y = ensure_array(condition), ensure_array(x), ensure_array(y)
    if condition.dtype != np.bool_:
        condition = lax.ne(condition, np.zeros((), condition.dtype))
    x, y = promote_dtypes(x, y)
    shape = broadcast_shapes(condition.shape, x.shape, y.shape)
    if condition.shape:
        condition = spread(condition, shape)
    x, y = spread(x, shape), spread(y, shape)
    return lax.select_n(condition, y, x)


_where = compiled(_where_of_three, name="_where")


def select(
    condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0
) -> Array:
    """Returns, for each element, the choice of the first condition that holds.

    Args:
      condlist: boolean arrays.
      choicelist: one array or scalar for each condition.
      default: the value where no condition holds.

    Returns:
      An array of the common dtype of the choices and the default, of the arguments' broadcast
      shape.

    Raises:
      ValueError: if the two sequences are empty or of unequal length.

    Example:
      >>> x = asarray([-1, 0, 1])
      >>> select([x < 0, x > 0], [10, 20], 5)
      Array([10,  5, 20], dtype=int32, weak_type=True)
    """
    if len(condlist) != len(choicelist):
        raise ValueError(
            "select: condlist must have length equal to choicelist, got "
            f"{len(condlist)} and {len(choicelist)}"
        )
    if len(condlist) == 0:
        raise ValueError("select: condlist must not be empty")
    return _select(list(condlist), list(choicelist), default)


def _select_first(condlist: list[Any], choicelist: list[Any], default: Any) -> Any:
    conditions = [convert(ensure_array(condition), np.dtype(bool)) for condition in condlist]
    *choices, default = promote_dtypes(*map(ensure_array, choicelist), ensure_array(default))
    shape = broadcast_shapes(*(np.shape(value) for value in (*conditions, *choices, default)))
    result = spread(default, shape)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = lax.select(spread(condition, shape), spread(choice, shape), result)
    return result


_select = compiled(_select_first, name="select")


def clip(
    arr: ArrayLike | None = None, /, min: ArrayLike | None = None, max: ArrayLike | None = None
) -> Array:
    """Returns an array with values below ``min`` replaced by ``min``, and above ``max`` by ``max``.

    Args:
      arr: an array of real numbers.
      min: the lower limit, an array or scalar; no limit if None.
      max: the upper limit, an array or scalar; no limit if None.

    Returns:
      An array of the common dtype, of the shape that the arguments broadcast to.

    Raises:
      ValueError: if ``arr`` is not given, or an argument is complex: complex numbers have no order.

    Example:
      >>> clip(asarray([-1.0, 0.5, 2.0]), 0, 1)
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    if arr is None:
        raise ValueError("No input was provided to the clip function.")
    return _clip(arr, min, max)


def _clip_to(arr: Any, min: Any, max: Any) -> Any:
    check_arraylike("clip", arr)
    for limit in (arr, min, max):
        if limit is not None and dtypes.issubdtype(result_type_of(limit)[0], np.complexfloating):
            raise ValueError(
                "Clip received a complex value either through the input or the min/max keywords. "
                "Complex values have no ordering and cannot be clipped. Please convert to a real "
                "value or array by taking the real or imaginary components via "
                "olympus.numpy.real/imag respectively."
            )
    arr = ensure_array(arr)
    if min is not None:
        low, arr, _ = promote_args.pair("clip", min, arr)
        arr = lax.max(low, arr)
    if max is not None:
        high, arr, _ = promote_args.pair("clip", max, arr)
        arr = lax.min(high, arr)
    return arr


_clip = compiled(_clip_to, name="clip")


def piecewise(
    x: ArrayLike,
    condlist: Array | Sequence[ArrayLike],
    funclist: Sequence[ArrayLike | Callable[..., ArrayLike]],
    *args: Any,
    **kw: Any,
) -> Array:
    """Returns, for each element, the value of the function whose condition holds.

    Args:
      x: an array, the functions' argument.
      condlist: boolean arrays of the shape of ``x`` or scalars, one for each condition, or the one
        condition. The last condition that holds selects the function.
      funclist: one function or scalar for each condition, and optionally one for all other
        elements.
      *args: passed to the functions.
      **kw: passed to the functions.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      ValueError: if the number of functions is neither the number of conditions nor one more.

    Example:
      >>> piecewise(asarray([-2.0, 3.0]), [asarray([True, False])], [lambda v: -v, lambda v: v * v])
      Array([2., 9.], dtype=float32)
    """
    check_arraylike("piecewise", x)
    x = ensure_array(x)
    if (
        isinstance(condlist, Array | np.ndarray)
        and condlist.ndim == x.ndim
        and not (x.ndim and 0 <= len(funclist) - len(condlist) <= 1)
    ):
        conditions = [condlist]
    else:
        condition_list: Any = condlist
        conditions = (
            list(condition_list)
            if isinstance(condition_list, list | tuple) or np.ndim(condition_list)
            else [condition_list]
        )
    count, functions = len(conditions), len(funclist)
    if functions == count + 1:
        funclist = [funclist[-1], *funclist[:count]]
    elif functions == count:
        funclist = [0, *funclist]
    else:
        raise ValueError(
            f"with {count} condition(s), either {count} or {count + 1} functions are expected; got "
            f"{functions}"
        )
    # For each element, the index of the last condition that holds, counted from 1; 0 if none holds.
    conditions = [convert(asarray(condition), np.dtype(bool)) for condition in conditions]
    shape = broadcast_shapes(x.shape, *(condition.shape for condition in conditions))
    number = zeros(shape, dtype=np.int32)
    for position, condition in enumerate(conditions, start=1):
        number = where(condition, position, number)
    cases = [
        spread(convert(ensure_array(_value(fun, x, args, kw)), x.dtype), shape) for fun in funclist
    ]
    if len(cases) == 2:
        return lax.select_n(lax.ne(number, np.int32(0)), *cases)
    return lax.select_n(number, *cases)


def _value(fun: Callable[..., Any] | Any, x: Any, args: tuple, kw: dict[str, Any]) -> Any:
    return fun(x, *args, **kw) if callable(fun) else fun
