# SPDX-License-Identifier: Apache-2.0
"""Packing of narrow numbers, stochastic rounding, `einshape`, and values in profiles."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.primitives import Primitive
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray, get_aval

from ..operations.effects import trace_effect

__all__ = [
    "einshape",
    "pack_elementwise",
    "pack_elementwise_p",
    "stochastic_round",
    "stochastic_round_p",
    "trace_value",
    "trace_value_p",
    "unpack_elementwise",
    "unpack_elementwise_p",
]

pack_elementwise_p = Primitive("pack_elementwise")
unpack_elementwise_p = Primitive("unpack_elementwise")
stochastic_round_p = Primitive("stochastic_round")
trace_value_p = Primitive.declare("trace_value", multiple_results=True)


def _unsigned(bits: int) -> np.dtype:
    return np.dtype(f"uint{bits}")


def _bits(dtype: Any) -> int:
    return dtypes.itemsize_bits(dtypes.dtype(dtype))


# ---- packing ----


@pack_elementwise_p.def_abstract_eval
def _pack_type(*xs: ShapedArray, packed_dtype: Any) -> ShapedArray:
    first = xs[0]
    if any(x.shape != first.shape or x.dtype != first.dtype for x in xs):
        raise ValueError(
            "All sources must have the same shape and dtype, got "
            + ", ".join(x.str_short() for x in xs)
        )
    integers = dtypes.issubdtype(first.dtype, np.integer) and dtypes.issubdtype(
        packed_dtype, np.integer
    )
    halves = first.dtype == np.float32 and dtypes.dtype(packed_dtype) == dtypes.dtype("bfloat16")
    if not integers and not halves:
        raise ValueError(
            f"Only f32 -> bf16 and int -> int are supported. Got {first.dtype} and {packed_dtype}"
        )
    factor = _bits(first.dtype) // _bits(packed_dtype)
    if len(xs) != factor:
        raise ValueError(
            f"The number of sources must match the packing factor ({factor}), got {len(xs)}"
        )
    return ShapedArray(first.shape, _unsigned(_bits(first.dtype)))


@expansion_rules.define(pack_elementwise_p)
def _pack(*xs: Any, packed_dtype: Any) -> Any:
    width, wide = _bits(packed_dtype), _unsigned(_bits(xs[0].dtype))
    packed = None
    for position, x in enumerate(xs):
        if dtypes.issubdtype(x.dtype, np.floating):
            x = lax.bitcast_convert_type(lax.convert_element_type(x, packed_dtype), np.uint16)
        part = lax.bitwise_and(lax.convert_element_type(x, wide), wide.type(2**width - 1))
        part = lax.shift_left(part, wide.type(position * width))
        packed = part if packed is None else lax.bitwise_or(packed, part)
    return packed


def pack_elementwise(xs: Sequence[ArrayLike], *, packed_dtype: DTypeLike) -> Array:
    """Packs several arrays into one, whose elements hold one narrow number of each array.

    Args:
      xs: the arrays. Their number is the number of values of ``packed_dtype`` that fit in one
        element. Integers keep their lower bits.
      packed_dtype: the narrow dtype.

    Returns:
      Unsigned integers as wide as the elements of ``xs``; the first array has the lowest bits.

    Raises:
      ValueError: the number of arrays is wrong, or their types differ.

    Example:
      >>> packed = pack_elementwise([np.uint16([1]), np.uint16([2])], packed_dtype="uint8")
      >>> packed
      Array([513], dtype=uint16)
    """
    return pack_elementwise_p.bind(*xs, packed_dtype=packed_dtype)


@unpack_elementwise_p.def_abstract_eval
def _unpack_type(
    x: ShapedArray, *, index: int, packed_dtype: Any, unpacked_dtype: Any
) -> ShapedArray:
    factor = _bits(unpacked_dtype) // _bits(packed_dtype)
    if not 0 <= index < factor:
        raise ValueError(f"Index {index} is out of bounds for packing factor {factor}")
    return ShapedArray(x.shape, dtypes.dtype(unpacked_dtype))


@expansion_rules.define(unpack_elementwise_p)
def _unpack(x: Any, *, index: int, packed_dtype: Any, unpacked_dtype: Any) -> Any:
    width, wide = _bits(packed_dtype), _unsigned(_bits(x.dtype))
    x = lax.bitcast_convert_type(x, wide) if x.dtype != wide else x
    part = lax.shift_right_logical(x, wide.type(index * width))
    narrow = dtypes.dtype(packed_dtype)
    if dtypes.issubdtype(narrow, np.floating):
        part = lax.convert_element_type(part, _unsigned(width))
        return lax.convert_element_type(lax.bitcast_convert_type(part, narrow), unpacked_dtype)
    # The arithmetic shift to the right extends the sign.
    room = wide.type(_bits(wide) - width)
    part = lax.shift_left(part, room)
    if dtypes.issubdtype(narrow, np.signedinteger):
        signed = np.dtype(f"int{_bits(wide)}")
        part = lax.shift_right_arithmetic(lax.bitcast_convert_type(part, signed), signed.type(room))
    else:
        part = lax.shift_right_logical(part, room)
    return lax.convert_element_type(part, unpacked_dtype)


def unpack_elementwise(
    x: ArrayLike, *, index: int, packed_dtype: DTypeLike, unpacked_dtype: DTypeLike
) -> Array:
    """Unpacks one of the arrays that `pack_elementwise` has packed.

    Args:
      x: the packed array.
      index: index of the array.
      packed_dtype: the dtype of the packed arrays.
      unpacked_dtype: the dtype of the result, as wide as the elements of ``x``.

    Returns:
      An array of the shape of ``x`` and of dtype ``unpacked_dtype``.

    Raises:
      ValueError: ``index`` is out of range.

    Example:
      >>> packed = pack_elementwise([np.uint16([1]), np.uint16([2])], packed_dtype="uint8")
      >>> unpack_elementwise(packed, index=1, packed_dtype="uint8", unpacked_dtype="uint16")
      Array([2], dtype=uint16)
    """
    return unpack_elementwise_p.bind(
        x, index=index, packed_dtype=packed_dtype, unpacked_dtype=unpacked_dtype
    )


# ---- rounding ----


@stochastic_round_p.def_abstract_eval
def _round_type(x: ShapedArray, random_bits: ShapedArray, *, target_dtype: Any) -> ShapedArray:
    if random_bits.shape != x.shape:
        raise ValueError(
            "The shape of `random_bits` must match the shape of `x` for stochastic_round, but got "
            f"{random_bits.shape} and {x.shape}"
        )
    if random_bits.dtype != np.uint32:
        raise ValueError(
            "The dtype of `random_bits` must be uint32 for stochastic_round, but got "
            f"{random_bits.dtype}"
        )
    if x.dtype != np.float32:
        raise ValueError(f"stochastic_round rounds numbers of type float32, got {x.dtype}")
    return ShapedArray(x.shape, dtypes.dtype(target_dtype))


@expansion_rules.define(stochastic_round_p)
def _round(x: Any, random_bits: Any, *, target_dtype: Any) -> Any:
    """Adds random bits to the bits that are lost, and rounds up where this addition carries."""
    mantissa = dtypes.finfo(dtypes.dtype(target_dtype)).nmant
    lost = 23 - mantissa
    bits = lax.bitcast_convert_type(x, np.uint32)
    below = np.uint32(2**lost - 1)
    raised = lax.add(bits, lax.bitwise_and(random_bits, below))
    upper_bits = lax.bitwise_and(raised, np.uint32(~np.uint64(below) & np.uint64(0xFFFFFFFF)))
    rounded = lax.bitcast_convert_type(upper_bits, np.float32)
    return lax.convert_element_type(
        lax.select_n(lax.is_finite(x), x, rounded), dtypes.dtype(target_dtype)
    )


def stochastic_round(x: ArrayLike, random_bits: ArrayLike, *, target_dtype: DTypeLike) -> Array:
    """Rounds each number randomly to one of the two adjacent numbers of the target dtype.

    The nearer number is more probable.

    Args:
      x: numbers of type float32.
      random_bits: unsigned integers of 32 bits, of the shape of ``x``.
      target_dtype: the dtype to round to.

    Returns:
      An array of the shape of ``x`` and of dtype ``target_dtype``.

    Raises:
      ValueError: an argument has an unsupported type.

    Example:
      >>> x = np.full((4,), 1.005, np.float32)
      >>> bits = np.uint32([0, 2**14, 2**15, 2**16 - 1])
      >>> stochastic_round(x, bits, target_dtype="bfloat16")
      Array([1, 1, 1.00781, 1.00781], dtype=bfloat16)
    """
    return stochastic_round_p.bind(x, random_bits, target_dtype=target_dtype)


# ---- shapes ----

_FACTORS = re.compile(r"\(([^()]*)\)|(\S)")


def _groups(side: str) -> list[list[str]]:
    return [list(match[1]) if match[2] is None else [match[2]] for match in _FACTORS.finditer(side)]


def einshape(
    equation: str, x: ArrayLike, assert_is_tile_preserving: bool = False, **sizes: int
) -> Array:
    """Splits, transposes and merges dimensions by an equation of letters.

    Args:
      equation: the equation, such as ``"a(bc)->(ba)c"``. A letter is a dimension. Letters in
        parentheses are one dimension: on the left a dimension to split, on the right a merged
        dimension.
      x: the array.
      assert_is_tile_preserving: whether elements of one tile of a TPU's memory must stay together.
        The last two dimensions may then be split only between tiles.
      **sizes: the sizes of letters that the array's shape does not determine.

    Returns:
      An array of the dtype of ``x``. Its dimensions are the groups at the right of the equation.

    Raises:
      ValueError: the equation, the shape and the sizes do not match.

    Example:
      >>> einshape("a(bc)->bac", np.arange(6).reshape(1, 6), b=2)
      Array([[[0, 1, 2]],
      <BLANKLINE>
             [[3, 4, 5]]], dtype=int32)
    """
    parts = equation.replace(" ", "").split("->")
    if len(parts) != 2:
        raise ValueError("Equation must contain exactly one '->'")
    left, right = map(_groups, parts)
    shape = get_aval(x).shape  # type: ignore[attr-defined]
    if len(left) != len(shape):
        raise ValueError(
            f"Equation LHS has {len(left)} groups but input has {len(shape)} dims. LHS: {left}, "
            f"Input shape: {shape}"
        )
    known = _letter_sizes(left, shape, sizes)
    names = [name for group in left for name in group]
    result_names = [name for group in right for name in group]
    _check_letters(equation, names, result_names)
    if assert_is_tile_preserving:
        _check_tiles(equation, left, right, known, _bits(get_aval(x).dtype))
    x = lax.reshape(x, tuple(known[name] for name in names))
    order = tuple(names.index(name) for name in result_names)
    if order != tuple(range(len(order))):
        x = lax.transpose(x, order)
    return lax.reshape(x, tuple(math.prod(known[name] for name in group) for group in right))


def _letter_sizes(
    left: list[list[str]], shape: tuple[int, ...], sizes: dict[str, int]
) -> dict[str, int]:
    """Returns the size of each letter's dimension, as given or as determined by the shape."""
    known = dict(sizes)
    for group, size in zip(left, shape, strict=True):
        unknown = [name for name in group if name not in known]
        product = math.prod(known[name] for name in group if name in known)
        if len(unknown) > 1:
            raise ValueError(
                f"Ambiguous split for {group} with size {size}. Unknowns: {unknown}. Provide sizes "
                "via kwargs."
            )
        if size % product or (not unknown and size != product):
            raise ValueError(f"Cannot split size {size} with known sizes {product}")
        for name in unknown:
            known[name] = size // product
    return known


def _check_letters(equation: str, names: list[str], result_names: list[str]) -> None:
    """Checks that both sides of an equation have the same letters, each letter once."""
    for name in result_names:
        if name not in names:
            raise ValueError(f"Unknown dimension {name} in RHS")
    if sorted(names) != sorted(result_names) or len(set(names)) != len(names):
        raise ValueError(
            f"each dimension must appear once on each side of an equation, got {equation!r}"
        )


def _check_tiles(
    equation: str, left: list[list[str]], right: list[list[str]], sizes: dict[str, int], bits: int
) -> None:
    """Checks that an equation splits no dimension inside of a tile."""
    for side in (left, right):
        for position, tile in ((-1, 128), (-2, 8 * max(32 // bits, 1))):
            if len(side) < -position or len(side[position]) == 1:
                continue
            inner = sizes[side[position][-1]]
            if inner % tile:
                raise ValueError(
                    f"the equation {equation!r} does not keep tiles together: dimension "
                    f"{position} of {side} is cut into parts of {inner}, which is not a multiple "
                    f"of {tile}"
                )


# ---- values in profiles ----


@trace_value_p.def_effectful_abstract_eval
def _trace_value_types(value: Any, *, label: str) -> Any:
    if value.shape:
        raise ValueError(f"trace_value shows a scalar, got {value.str_short()}")
    return (), frozenset({trace_effect})


# Only a TPU's profiler uses the value.
expansion_rules.define(trace_value_p, lambda value, *, label: [])


def trace_value(label: str, value: ArrayLike) -> None:
    """Shows a number in a TPU's profile, at the enclosing event.

    Args:
      label: name of the value.
      value: the number, a 32-bit integer or floating-point scalar.
    """
    trace_value_p.bind(value, label=label)
