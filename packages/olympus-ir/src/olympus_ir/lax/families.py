# SPDX-License-Identifier: Apache-2.0
"""Constructors of primitives that share a shape rule: elementwise operations and reductions.

A primitive is declared in one line; its shape rule, dtype checks and error messages come with the
family. Elementwise operations of several operands take equal dtypes, and equal shapes but for
scalars, which are spread over the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..avals import ShapedArray
from ..errors import ShapeError
from ..primitives import Primitive, instruction

# Kinds of dtypes that operations accept, as abstract classes of NumPy's hierarchy.
Floating = (np.floating,)
Inexact = (np.inexact,)
ComplexFloating = (np.complexfloating,)
Integer = (np.integer,)
IntegerOrBool = (np.integer, np.bool_)
Number = (np.number,)
SignedNumber = (np.signedinteger, np.inexact)
Ordered = (np.integer, np.floating, np.bool_)
Anything = (np.generic,)
AnythingExtended = (np.generic, dtypes.extended)

DTypeRule = Callable[..., Any]


def check_dtype(name: str, aval: ShapedArray, accepted: Sequence[type], position: int = -1) -> None:
    """Raises TypeError where an operand's dtype is of none of the accepted kinds."""
    if not any(dtypes.issubdtype(aval.dtype, kind) for kind in accepted):
        kinds = ", ".join(kind.__name__.rstrip("_") for kind in accepted)
        where = "" if position < 0 else f" at position {position}"
        raise TypeError(
            f"{name} does not accept dtype {dtypes.name_of(aval.dtype)}{where}. Accepted dtypes "
            f"are subtypes of {kinds}."
        )


def broadcast_scalars(name: str, avals: Sequence[ShapedArray]) -> tuple:
    """The common shape of operands that are equal in shape or scalars.

    Raises:
      TypeError: where two operands that are not scalars differ in shape.
    """
    shape: tuple = ()
    for aval in avals:
        if aval.shape != shape and aval.shape:
            if shape:
                _raise_incompatible(name, avals)
            shape = aval.shape
    return shape


def _raise_incompatible(name: str, avals: Sequence[ShapedArray]) -> None:
    shown = ", ".join(aval.str_short(short_dtypes=True) for aval in avals)
    ranks = sorted({aval.ndim for aval in avals if aval.ndim})
    if len(ranks) > 1:
        detail = f"arrays must have the same number of dimensions, got {set(ranks)}"
    else:
        shapes = ", ".join(str(aval.shape) for aval in avals)
        detail = f"got incompatible shapes for broadcasting: {shapes}"
    raise ShapeError(
        f"{name}: {detail} (operands {shown}). lax operations broadcast scalars only; use the "
        "function of the same name in olympus.numpy, or lax.broadcast_in_dim on one operand."
    )


def result_weak_type(avals: Sequence[ShapedArray]) -> bool:
    return all(aval.weak_type for aval in avals)


def check_same_dtypes(name: str, avals: Sequence[ShapedArray], numpy_name: str = "") -> None:
    """Raises TypeError where the operands' dtypes differ."""
    first = avals[0].dtype
    for aval in avals:
        if aval.dtype is not first and aval.dtype != first:
            given = ", ".join(dtypes.name_of(aval.dtype) for aval in avals)
            tip = (
                f" (Tip: olympus.numpy.{numpy_name} is a similar function that does automatic type "
                "promotion on inputs.)"
                if numpy_name
                else ""
            )
            raise TypeError(
                f"lax.{name} requires arguments to have the same dtypes, got {given}.{tip}"
            )


def elementwise(
    name: str,
    *accepted: Sequence[type],
    result: DTypeRule | None = None,
    numpy_name: str = "",
    family: str = "elementwise",
    same_dtypes: bool = True,
    params_in_result: bool = False,
) -> Primitive:
    """Declares an elementwise primitive.

    Args:
      name: the primitive's name.
      *accepted: for each operand, the kinds of dtypes it may have.
      result: from the operands' dtypes (and parameters where ``params_in_result``) to the
        result's dtype; the first operand's where not given.
      numpy_name: the function of olympus.numpy that promotes dtypes, for the error message.
      family: the rule files the primitive belongs to.
      same_dtypes: whether the operands must agree in dtype.
      params_in_result: whether ``result`` takes the parameters as keywords.
    """
    primitive = instruction(name, family=family)
    arity = len(accepted)

    def shape_rule(*avals: ShapedArray, **params: Any) -> ShapedArray:
        if len(avals) != arity:
            raise TypeError(f"{name} takes {arity} operands, got {len(avals)}")
        for position, (aval, kinds) in enumerate(zip(avals, accepted, strict=True)):
            if not isinstance(aval, ShapedArray):
                raise TypeError(f"{name} takes arrays, got {aval} at position {position}")
            check_dtype(name, aval, kinds, position if arity > 1 else -1)
        if same_dtypes and arity > 1:
            check_same_dtypes(name, avals, numpy_name)
        shape = broadcast_scalars(name, avals) if arity > 1 else avals[0].shape
        if result is None:
            dtype = avals[0].dtype
        elif params_in_result:
            dtype = result(*(aval.dtype for aval in avals), **params)
        else:
            dtype = result(*(aval.dtype for aval in avals))
        weak = result_weak_type(avals) and dtype == avals[0].dtype
        return ShapedArray(shape, dtype, weak, **common_placement(avals))

    primitive.def_abstract_eval(shape_rule)
    return primitive


def unary(name: str, accepted: Sequence[type] = Anything, **options: Any) -> Primitive:
    """Declares an elementwise primitive of one operand; see `elementwise`."""
    return elementwise(name, accepted, **options)


def binary(name: str, accepted: Sequence[type] = Anything, **options: Any) -> Primitive:
    """Declares an elementwise primitive of two operands of one dtype; see `elementwise`."""
    return elementwise(name, accepted, accepted, **options)


def common_placement(avals: Sequence[ShapedArray]) -> dict[str, Any]:
    """The placement of an elementwise result: empty in the common case of operands without one."""
    for aval in avals:
        if aval.sharding is not None or aval.vma or aval.memory_space is not None:
            return _joined_placement(avals)
    return {}


def _joined_placement(avals: Sequence[ShapedArray]) -> dict[str, Any]:
    placement: dict[str, Any] = {}
    shape = broadcast_scalars("elementwise operation", avals)
    full = [aval for aval in avals if aval.shape == shape]
    shardings = {aval.sharding for aval in full if aval.sharding is not None}
    if len(shardings) > 1:
        raise ShapeError(
            "operands of an elementwise operation must be sharded alike, got "
            + ", ".join(aval.str_short(short_dtypes=True) for aval in avals)
        )
    if shardings:
        placement["sharding"] = shardings.pop()
    varying = frozenset().union(*(aval.vma for aval in avals))
    if varying:
        placement["vma"] = varying
    spaces = {aval.memory_space for aval in full if aval.memory_space is not None}
    if len(spaces) == 1:
        placement["memory_space"] = spaces.pop()
    return placement


def axis_reduction(
    name: str,
    accepted: Sequence[type] = Number,
    *,
    result: DTypeRule | None = None,
    family: str = "reductions",
) -> Primitive:
    """Declares a primitive that reduces one array over ``axes``."""
    primitive = instruction(name, family=family)

    def shape_rule(operand: ShapedArray, *, axes: tuple, **params: Any) -> ShapedArray:
        check_dtype(name, operand, accepted)
        shape = reduced_shape(name, operand, axes)
        dtype = operand.dtype if result is None else result(operand.dtype, **params)
        return ShapedArray(
            shape, dtype, operand.weak_type and dtype == operand.dtype, vma=operand.vma
        )

    primitive.def_abstract_eval(shape_rule)
    return primitive


def reduced_shape(name: str, operand: ShapedArray, axes: Sequence[int]) -> tuple:
    """The operand's shape without ``axes``.

    Raises:
      ValueError: where axes repeat or are out of range.
    """
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axes' of {name}: {tuple(axes)}")
    if not all(0 <= axis < operand.ndim for axis in axes):
        raise ValueError(
            f"{name} of {operand.str_short(short_dtypes=True)} got axes {tuple(axes)}; axes must "
            f"be in the range from 0 to {operand.ndim - 1}"
        )
    removed = set(axes)
    return tuple(size for axis, size in enumerate(operand.shape) if axis not in removed)


def fixed_dtype(dtype: Any) -> DTypeRule:
    """A result rule: always this dtype."""
    fixed = np.dtype(dtype)
    return lambda *dtypes_of_operands, **params: fixed


def real_dtype(dtype: Any) -> Any:
    """The dtype of a complex dtype's parts; a real dtype itself."""
    if dtype == np.complex64:
        return np.dtype(np.float32)
    if dtype == np.complex128:
        return np.dtype(np.float64)
    return dtype
