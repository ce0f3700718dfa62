# SPDX-License-Identifier: Apache-2.0
"""Constructors of primitives that share a shape rule: elementwise operations and reductions.

One line declares a primitive. Its shape rule, dtype checks and error messages come from the
family. Operands of an elementwise operation have equal dtypes. Their shapes are equal, except that
scalars and dimensions of size one are broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...diagnostics.errors import ShapeError
from ...programs.primitives import Primitive, instruction
from ...types import dtypes
from ...types.avals import ShapedArray
from ...types.layouts import ManualAxisType
from ...types.memory_spaces import MemorySpace

# Kinds of dtypes that operations accept, as abstract classes of NumPy's hierarchy.
Floating = (np.floating,)
Inexact = (np.floating, np.complexfloating)
ComplexFloating = (np.complexfloating,)
Integer = (np.integer,)
IntegerOrBool = (np.integer, np.bool_)
Number = (np.integer, np.floating, np.complexfloating)
SignedNumber = (np.floating, np.complexfloating, np.signedinteger)
Ordered = (np.integer, np.floating, np.bool_)
Anything = (np.generic,)
AnythingExtended = (np.generic, dtypes.extended)

DTypeRule = Callable[..., Any]


# Advice in errors about bitwise operations on floats. A wrong operator precedence often causes
# these errors.
_PRECEDENCE = (
    " In Python `&`, `|` and `^` bind more tightly than comparisons: write `(x > 0) & (x < 2)`."
)
_ADVICE: dict[str, str] = dict.fromkeys(("and", "or", "xor"), _PRECEDENCE)


def check_dtype(name: str, aval: ShapedArray, accepted: Sequence[type], position: int = -1) -> None:
    """Raises TypeError if an operand's dtype is not of an accepted kind."""
    if not any(dtypes.issubdtype(aval.dtype, kind) for kind in accepted):
        kinds = ", ".join(kind.__name__.rstrip("_") for kind in accepted)
        where = "" if position < 0 else f" at position {position}"
        if aval.dtype == dtypes.float0:
            dtypes.refuse_float0(f"{name}{where and ','}{where}{where and ','}")
        advice = _ADVICE.get(name, "") if dtypes.issubdtype(aval.dtype, np.inexact) else ""
        raise TypeError(
            f"{name} does not accept dtype {dtypes.name_of(aval.dtype)}{where}. Accepted dtypes"
            f"{where} are subtypes of {kinds}.{advice}"
        )


def broadcast_operands(name: str, avals: Sequence[ShapedArray]) -> tuple:
    """Returns the common shape of an elementwise operation's operands.

    Operands that are not scalars must have equal ranks; their sizes in a dimension must be equal or
    one.

    Raises:
      ShapeError: if two operands have incompatible shapes.
    """
    shape: tuple = ()
    for aval in avals:
        if aval.shape != shape and aval.shape:
            shape = _joined_shape(name, shape, aval.shape, avals) if shape else aval.shape
    return shape


def _joined_shape(name: str, shape: tuple, other: tuple, avals: Sequence[ShapedArray]) -> tuple:
    if len(shape) != len(other):
        _raise_incompatible(name, avals)
    joined = []
    for size, other_size in zip(shape, other, strict=True):
        if size != other_size and size != 1 and other_size != 1:
            _raise_incompatible(name, avals)
        joined.append(other_size if size == 1 else size)
    return tuple(joined)


def _raise_incompatible(name: str, avals: Sequence[ShapedArray]) -> None:
    shown = ", ".join(aval.str_short(short_dtypes=True) for aval in avals)
    ranks = sorted({aval.ndim for aval in avals if aval.ndim})
    if len(ranks) > 1:
        detail = f"arrays must have the same number of dimensions, got {set(ranks)}"
    else:
        shapes = ", ".join(str(aval.shape) for aval in avals)
        detail = f"got incompatible shapes for broadcasting: {shapes}"
    raise ShapeError(
        f"{name}: {detail} (operands {shown}). lax operations broadcast scalars and dimensions of "
        "size one only; use the function of olympus.numpy, or lax.broadcast_in_dim on one operand."
    )


def result_weak_type(avals: Sequence[ShapedArray]) -> bool:
    return all(aval.weak_type for aval in avals)


def check_same_dtypes(name: str, avals: Sequence[ShapedArray], numpy_name: str = "") -> None:
    """Raises TypeError if the operands' dtypes differ."""
    first = avals[0].dtype
    for aval in avals:
        if aval.dtype is not first and aval.dtype != first:
            names = ", ".join(dtypes.name_of(aval.dtype) for aval in avals)
            tip = (
                f" (Tip: olympus.numpy.{numpy_name} is a similar function that does automatic type "
                "promotion on inputs.)"
                if numpy_name
                else ""
            )
            raise TypeError(
                f"lax.{name} requires arguments to have the same dtypes, got {names}.{tip}"
            )


def elementwise_primitive(
    name: str,
    *accepted: Sequence[type],
    result: DTypeRule | None = None,
    numpy_name: str = "",
    family: str = "elementwise",
    same_dtypes: bool = True,
    linear_in: tuple[int, ...] | bool = (),
) -> Primitive:
    """Declares an elementwise primitive.

    Args:
      name: the primitive's name.
      *accepted: for each operand, the kinds of dtypes that the operand may have.
      result: a function that returns the result's dtype, given the operands' dtypes and the
        parameters as keywords. By default, the result has the first operand's dtype.
      numpy_name: the function of olympus.numpy that promotes dtypes, for the error message.
      family: the family of rules to which the primitive belongs.
      same_dtypes: whether the operands must agree in dtype.
      linear_in: the operands in which the result is linear; see `Primitive.linear_in`.
    """
    primitive = instruction(name, family=family)
    primitive.elementwise = True
    primitive.linear_in = linear_in
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
        shape = broadcast_operands(name, avals) if arity > 1 else avals[0].shape
        if result is None:
            dtype = avals[0].dtype
        else:
            dtype = result(*(aval.dtype for aval in avals), **params)
        return ShapedArray(shape, dtype, result_weak_type(avals), **common_placement(avals))

    primitive.def_abstract_eval(shape_rule)
    return primitive


def unary(name: str, accepted: Sequence[type] = Anything, **options: Any) -> Primitive:
    """Declares an elementwise primitive of one operand; see `elementwise_primitive`."""
    return elementwise_primitive(name, accepted, **options)


def binary(name: str, accepted: Sequence[type] = Anything, **options: Any) -> Primitive:
    """Declares an elementwise primitive of two operands; see `elementwise_primitive`."""
    return elementwise_primitive(name, accepted, accepted, **options)


def common_placement(avals: Sequence[ShapedArray]) -> dict[str, Any]:
    """Returns the placement of an elementwise result; empty if no operand has a placement."""
    for aval in avals:
        if aval.vma or aval.memory_space is not MemorySpace.Device:
            return _joined_placement(avals)
    return {}


def _joined_placement(avals: Sequence[ShapedArray]) -> dict[str, Any]:
    placement: dict[str, Any] = {}
    shape = broadcast_operands("elementwise operation", avals)
    full = [aval for aval in avals if aval.shape == shape]
    varying = frozenset().union(*(aval.vma for aval in avals))
    if varying:
        placement["manual_axis_type"] = ManualAxisType(varying=varying)
    spaces = {aval.memory_space for aval in full} - {MemorySpace.Device}
    if len(spaces) == 1:
        placement["memory_space"] = spaces.pop()
    return placement


def axis_reduction(
    name: str,
    accepted: Sequence[type] = Number,
    *,
    result: DTypeRule | None = None,
    family: str = "reductions",
    linear_in: tuple[int, ...] | bool = (),
    check: Callable[[ShapedArray, Sequence[int]], None] | None = None,
    keeps_weak: bool = True,
) -> Primitive:
    """Declares a primitive that reduces one array over the axes in its parameter ``axes``.

    Args:
      name: the primitive's name.
      accepted: the kinds of dtypes that the operand may have.
      result: a function that returns the result's dtype, given the operand's dtype and the
        parameters as keywords. By default, the result has the operand's dtype.
      family: the family of rules to which the primitive belongs.
      linear_in: the operands in which the result is linear; see `Primitive.linear_in`.
      check: a function of the operand's type and the axes that raises an error for operands that
        the primitive does not accept.
      keeps_weak: whether the result is weakly typed if the operand is.
    """
    primitive = instruction(name, family=family)
    primitive.linear_in = linear_in

    def shape_rule(operand: ShapedArray, *, axes: tuple, **params: Any) -> ShapedArray:
        check_dtype(name, operand, accepted)
        shape = reduced_shape(name, operand, axes)
        if check is not None:
            check(operand, axes)
        dtype = operand.dtype if result is None else result(operand.dtype, **params)
        weak_type = operand.weak_type and keeps_weak
        return ShapedArray.varying(shape, dtype, weak_type, vma=operand.vma)

    primitive.def_abstract_eval(shape_rule)
    return primitive


def reduced_shape(name: str, operand: ShapedArray, axes: Sequence[int]) -> tuple:
    """Returns the operand's shape without ``axes``.

    Raises:
      ValueError: if axes are repeated or out of range.
    """
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: duplicate value in 'axes' of reduction: {tuple(axes)}")
    if not all(0 <= axis < operand.ndim for axis in axes):
        raise ValueError(
            f"{name}: reduction axes {tuple(axes)} contains out-of-bounds indices for "
            f"{operand.str_short()}; lax accepts axes from 0 to ndim - 1; only olympus.numpy "
            "accepts negative axes."
        )
    removed = set(axes)
    return tuple(size for axis, size in enumerate(operand.shape) if axis not in removed)


def fixed_dtype(dtype: Any) -> DTypeRule:
    """Returns a rule that always returns the given dtype."""
    fixed = np.dtype(dtype)
    return lambda *dtypes_of_operands, **params: fixed


def real_dtype(dtype: Any) -> Any:
    """Returns the dtype of the real part."""
    if dtype == np.complex64:
        return np.dtype(np.float32)
    if dtype == np.complex128:
        return np.dtype(np.float64)
    return dtype
