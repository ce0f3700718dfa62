# SPDX-License-Identifier: Apache-2.0
"""Operations of a TPU's vector unit: rotation, bitcasts, random bits, dependencies."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from olympus_autodiff.tables import jvp_rules
from olympus_ir import lax
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.primitives import Primitive
from olympus_ir.references.discharge import discharge_rules
from olympus_ir.references.primitives import ref_and_transforms
from olympus_ir.references.transforms import BitcastTransform
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray, canonicalize_shape, get_aval
from olympus_ir.types.effects import read_effect, write_effect

from ..memory.annotations import IntLike, RefLike
from ..operations.effects import random_effect
from ..operations.simulated import simulated_primitives

__all__ = [
    "bitcast",
    "bitcast_p",
    "prng_random_bits",
    "prng_random_bits_p",
    "prng_seed",
    "prng_seed_p",
    "roll",
    "roll_p",
    "touch",
    "touch_p",
]

bitcast_p = Primitive("bitcast")
roll_p = Primitive("roll")
prng_seed_p = Primitive.declare("prng_seed", multiple_results=True)
prng_random_bits_p = Primitive("prng_random_bits")
touch_p = Primitive.declare("add_dependency", multiple_results=True)
touch_p.takes_refs = True
touch_p.spreads_varying = False
simulated_primitives.update((prng_seed_p, prng_random_bits_p))


# ---- rotation ----


@roll_p.def_abstract_eval
def _roll_type(x: ShapedArray, shift: ShapedArray, **params: Any) -> ShapedArray:
    return x.strip_weak_type()


@expansion_rules.define(roll_p)
def _roll(x: Any, shift: Any, *, axis: int, stride: int | None, stride_axis: int | None) -> Any:
    size = x.shape[axis]
    positions = lax.broadcasted_iota(np.int32, x.shape, axis)
    moved = lax.sub(positions, lax.convert_element_type(shift, np.int32))
    if stride is not None and stride_axis is not None:
        rows = lax.broadcasted_iota(np.int32, x.shape, stride_axis)
        moved = lax.sub(moved, lax.mul(rows, np.int32(stride)))
    moved = lax.rem(lax.add(lax.rem(moved, np.int32(size)), np.int32(size)), np.int32(size))
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=tuple(dim for dim in range(x.ndim) if dim != axis),
        start_indices_batching_dims=tuple(dim for dim in range(x.ndim) if dim != axis),
    )
    indices = lax.expand_dims(moved, (x.ndim,))
    return lax.gather(x, indices, numbers, (1,) * x.ndim, mode="promise_in_bounds")


@jvp_rules.define(roll_p)
def _roll_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    x, shift = primals
    return roll_p.bind(x, shift, **params), roll_p.bind(tangents[0], shift, **params)


def roll(
    x: ArrayLike,
    shift: IntLike,
    axis: int,
    *,
    stride: int | None = None,
    stride_axis: int | None = None,
) -> Array:
    """Rotates an array along an axis.

    Args:
      x: the array.
      shift: the number of positions by which elements move towards higher indices. Elements that
        leave at the end come back at the beginning.
      axis: the axis.
      stride: the growth of the shift from one index along ``stride_axis`` to the next.
      stride_axis: the axis along which the shift grows.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      ValueError: an axis is out of range, or a known shift is negative.

    Example:
      >>> roll(np.arange(4), 1, 0)
      Array([3, 0, 1, 2], dtype=int32)
    """
    ndim = len(get_aval(x).shape)  # type: ignore[attr-defined]
    if isinstance(shift, int) and shift < 0:
        raise ValueError(f"shift must be non-negative, got {shift}")
    if not 0 <= axis < ndim:
        raise ValueError(f"axis {axis} is out of range for an array of {ndim} dimensions")
    if (stride is None) != (stride_axis is None):
        raise ValueError("stride and stride_axis must be given together")
    if stride_axis is not None and (not 0 <= stride_axis < ndim or stride_axis == axis):
        raise ValueError(f"stride_axis {stride_axis} must be another axis of the array")
    shift = np.int32(shift) if isinstance(shift, int) else shift
    return roll_p.bind(x, shift, axis=axis, stride=stride, stride_axis=stride_axis)


# ---- bitcasts ----


@bitcast_p.def_abstract_eval
def _bitcast_type(x: ShapedArray, *, ty: Any) -> ShapedArray:
    return BitcastTransform(ty).transform_type(x).strip_weak_type()


@expansion_rules.define(bitcast_p)
def _bitcast(x: Any, *, ty: Any) -> Any:
    return BitcastTransform(ty).read(x)


def bitcast(x: ArrayLike, ty: DTypeLike) -> Array:
    """Reinterprets the bits of numbers as another dtype, as the vectors of a TPU hold them.

    If the widths of the dtypes differ, the second-to-last dimension grows or shrinks. An element of
    32 bits becomes two elements of 16 bits along this dimension, the lower bits first.

    Args:
      x: the array.
      ty: the new dtype.

    Returns:
      An array of dtype ``ty``.

    Raises:
      ValueError: the bits along the dimension do not form whole new elements, or the width changes
        in an array of fewer than two dimensions.

    Example:
      >>> bitcast(np.float32([1]), np.int32)
      Array([1065353216], dtype=int32)
      >>> bitcast(np.int32([[1, 2]]), np.int16)
      Array([[1, 2],
             [0, 0]], dtype=int16)
    """
    aval: Any = get_aval(x)
    dtype = np.dtype(ty)
    old, new = dtypes.itemsize_bits(aval.dtype), dtypes.itemsize_bits(dtype)
    if old == new:
        return lax.bitcast_convert_type(x, dtype)
    if aval.ndim < 2:
        raise ValueError(
            f"Not implemented: bitcast of {aval.str_short()} to {dtype}: a change of width "
            "needs two dimensions, since elements are combined along the second last; reshape it."
        )
    if aval.shape[-2] * old % new:
        raise ValueError(
            f"{aval.str_short()} cannot be seen as {dtype}: the 2nd minor dim can not be perfectly "
            f"packed or unpacked, since {aval.shape[-2]} elements of {old} bits are not whole "
            f"elements of {new}"
        )
    return bitcast_p.bind(x, ty=dtype)


# ---- random bits ----


@prng_seed_p.def_effectful_abstract_eval
def _seed_types(*seeds: Any) -> Any:
    return (), frozenset({random_effect})


@prng_random_bits_p.def_effectful_abstract_eval
def _bits_types(*, shape: tuple[int, ...]) -> Any:
    return ShapedArray(shape, np.dtype(np.int32)), frozenset({random_effect})


def _not_interpreted(*operands: Any, **params: Any) -> NoReturn:
    raise NotImplementedError(
        "the random bits of a TPU's own generator (tpu.prng_seed, tpu.prng_random_bits) exist on "
        "TPUs only; make the bits outside of the kernel, with olympus.random, to interpret it."
    )


expansion_rules.define(prng_seed_p, _not_interpreted)
expansion_rules.define(prng_random_bits_p, _not_interpreted)


def prng_seed(*seeds: IntLike) -> None:
    """Seeds the core's random generator.

    Args:
      *seeds: one or more integers.
    """
    prng_seed_p.bind(*[np.int32(seed) if isinstance(seed, int) else seed for seed in seeds])


def prng_random_bits(shape: Any) -> Array:
    """Returns random bits of the core's generator, as 32-bit integers.

    Args:
      shape: the shape of the result.

    Returns:
      An array of 32-bit integers, of the given shape.
    """
    return prng_random_bits_p.bind(shape=canonicalize_shape(shape))


# ---- dependencies ----


@touch_p.def_effectful_abstract_eval
def _touch_types(ref: Any) -> Any:
    return (), frozenset({read_effect, write_effect})


@discharge_rules.define(touch_p)
def _touched(equation: Any, operands: Any) -> Any:
    return [None], []


def touch(ref: RefLike) -> None:
    """Makes the compiler assume that a reference is read and written here.

    Args:
      ref: the reference.
    """
    ref, _ = ref_and_transforms("touch", ref)
    touch_p.bind(ref)
