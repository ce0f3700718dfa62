# SPDX-License-Identifier: Apache-2.0
"""Triton lowering of loads, stores and atomic updates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir.references import primitives as references
from olympus_ir.trees import pytrees
from olympus_xla.compiling.lowering import mlir

from ...memory.access import AtomicOpType, atomic_cas_p, atomic_rmw_p, load_p, swap_p
from ...mlir.attributes import i32_array
from ...mlir.building import KernelLoweringError, element_type, is_float, is_unsigned
from ...mlir.elementwise import cast
from ...mlir.tables import triton_rules
from .builder import TritonBuilder, pointer_type
from .views import Places, TritonRef, place, storage_dtype

_CACHE_MODIFIERS = {None: 1, "": 1, ".ca": 2, ".cg": 3, ".wb": 4, ".cs": 5, ".wt": 6, ".cv": 7}
_EVICTION_POLICIES = {None: 1, "": 1, "evict_first": 2, "evict_last": 3}


def _choice(name: str, value: Any, choices: dict[Any, int]) -> Any:
    if value not in choices:
        raise ValueError(f"unsupported {name}: {value}. It is one of {list(choices)[2:]}.")
    return mlir.i32(choices[value])


def _places(
    builder: TritonBuilder, ref: TritonRef, operands: Sequence[Any], tree: Any, unpack: Any
) -> tuple[Places, tuple]:
    """Returns pointers to the elements that an equation accesses, and its unflattened operands."""
    types = {
        id(operand): aval.dtype
        for operand, aval in zip(operands, builder.avals_in, strict=True)
        if operand is not None
    }
    parts = pytrees.tree_unflatten(tree, operands)
    ref, transforms = unpack(pytrees.tree_unflatten(tree, builder.with_known_indices(operands)))
    return place(builder, ref, transforms, types), parts


def _and(builder: TritonBuilder, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return right if left is None else left
    return builder.binary("arith.andi", left, right)


def load_places(
    builder: TritonBuilder,
    places: Places,
    dtype: Any,
    mask: Any = None,
    other: Any = None,
    *,
    cache_modifier: str | None = None,
    eviction_policy: str | None = None,
    is_volatile: bool = False,
) -> Any:
    """Loads the elements at pointers."""
    stored = storage_dtype(dtype)
    element = element_type(stored)
    kind = builder.shaped_type(places.shape, element) if places.shape else element
    mask = _and(builder, mask, places.inside)
    operands = [places.pointers]
    if mask is not None:
        operands.append(mask)
        if other is None:
            other = builder.full(0, places.shape, stored)
        else:
            other = cast(builder, other, dtype, stored)
            if places.shape and not builder.shape_of(other):
                other = builder.splat(other, places.shape)
            if places.shifts is not None:
                other = builder.binary("arith.shli", other, places.shifts)
        operands.append(other)
    present = 0 if mask is None else 1
    attributes = {
        "cache": _choice("cache modifier", cache_modifier, _CACHE_MODIFIERS),
        "evict": _choice("eviction policy", eviction_policy, _EVICTION_POLICIES),
        "isVolatile": mlir.boolean(is_volatile),
        "operandSegmentSizes": i32_array((1, present, present)),
    }
    value = builder.create("tt.load", kind, operands, attributes)
    if places.shifts is not None:
        value = builder.binary("arith.shrui", value, places.shifts)
    return cast(builder, value, stored, dtype)


def store_places(
    builder: TritonBuilder,
    places: Places,
    value: Any,
    dtype: Any,
    mask: Any = None,
    eviction_policy: str | None = None,
) -> None:
    """Stores elements at pointers."""
    if places.shifts is not None:
        raise KernelLoweringError(
            f"elements of {dtype} share bytes, and cannot be written by kernels for GPUs; have the "
            "kernel write int8, and convert the result."
        )
    value = cast(builder, value, dtype, storage_dtype(dtype))
    mask = _and(builder, mask, places.inside)
    operands = [places.pointers, value] + ([] if mask is None else [mask])
    attributes = {
        "cache": mlir.i32(1),
        "evict": _choice("eviction policy", eviction_policy, _EVICTION_POLICIES),
    }
    builder.operation("tt.store", [], operands, attributes)


def _is_used(builder: TritonBuilder) -> bool:
    """Returns whether the program uses the result of the equation that is being lowered."""
    return builder.equation.outvars[0] in builder.used


@triton_rules.define(references.get_p)
def _get(builder: TritonBuilder, *operands: Any, tree: Any) -> Any:
    ref, *leaves = operands
    places = _places_of_reference(builder, ref, leaves, tree, 1)
    return load_places(builder, places, ref.dtype)


def _places_of_reference(
    builder: TritonBuilder, ref: TritonRef, leaves: Sequence[Any], tree: Any, first: int
) -> Places:
    avals = builder.avals_in[first:]
    types = {id(leaf): aval.dtype for leaf, aval in zip(leaves, avals, strict=True)}
    known = builder.with_known_indices(leaves, first)
    return place(builder, ref, references.transforms_of(known, tree), types)


@triton_rules.define(references.swap_p)
def _swap(builder: TritonBuilder, *operands: Any, tree: Any) -> Any:
    ref, value, *leaves = operands
    places = _places_of_reference(builder, ref, leaves, tree, 2)
    previous = load_places(builder, places, ref.dtype) if _is_used(builder) else None
    store_places(builder, places, value, ref.dtype)
    return previous


@triton_rules.define(references.addupdate_p)
def _addupdate(builder: TritonBuilder, *operands: Any, tree: Any) -> list[Any]:
    ref, value, *leaves = operands
    places = _places_of_reference(builder, ref, leaves, tree, 2)
    previous = load_places(builder, places, ref.dtype)
    name = "arith.addf" if is_float(ref.dtype) else "arith.addi"
    store_places(builder, places, builder.binary(name, previous, value), ref.dtype)
    return []


def _first_two(parts: tuple) -> tuple:
    return parts[0], parts[1]


@triton_rules.define(load_p)
def _load(builder: TritonBuilder, *operands: Any, args_tree: Any, **params: Any) -> Any:
    places, parts = _places(builder, operands[0], operands, args_tree, _first_two)
    ref, _, mask, other = parts
    return load_places(builder, places, ref.dtype, mask, other, **params)


@triton_rules.define(swap_p)
def _masked_swap(
    builder: TritonBuilder, *operands: Any, args_tree: Any, eviction_policy: str | None
) -> Any:
    places, parts = _places(builder, operands[0], operands, args_tree, _first_two)
    ref, _, value, mask = parts
    previous = None
    if _is_used(builder):
        previous = load_places(builder, places, ref.dtype, mask, None if mask is None else value)
    store_places(builder, places, value, ref.dtype, mask, eviction_policy)
    return previous


# ---- atomic updates ----

_AND, _OR, _XOR, _ADD, _FADD, _MAX, _MIN, _UMAX, _UMIN, _XCHG = range(1, 11)
_ACQUIRE_RELEASE, _WHOLE_GPU = 4, 1


def _kind(operation: AtomicOpType, dtype: Any) -> int:
    if operation is AtomicOpType.ADD:
        return _FADD if is_float(dtype) else _ADD
    if operation is AtomicOpType.MAX:
        return _UMAX if is_unsigned(dtype) else _MAX
    if operation is AtomicOpType.MIN:
        return _UMIN if is_unsigned(dtype) else _MIN
    return {
        AtomicOpType.XCHG: _XCHG,
        AtomicOpType.AND: _AND,
        AtomicOpType.OR: _OR,
        AtomicOpType.XOR: _XOR,
    }[operation]


def _update(builder: TritonBuilder, kind: int, pointers: Any, value: Any, mask: Any) -> Any:
    attributes = {
        "atomic_rmw_op": mlir.i32(kind),
        "sem": mlir.i32(_ACQUIRE_RELEASE),
        "scope": mlir.i32(_WHOLE_GPU),
    }
    operands = [pointers, value] + ([] if mask is None else [mask])
    return builder.create("tt.atomic_rmw", value.type, operands, attributes)


@triton_rules.define(atomic_rmw_p)
def _atomic_rmw(
    builder: TritonBuilder, *operands: Any, args_tree: Any, atomic_type: AtomicOpType
) -> Any:
    places, parts = _places(builder, operands[0], operands, args_tree, _first_two)
    ref, _, value, mask = parts
    mask = _and(builder, mask, places.inside)
    is_extremum = atomic_type in (AtomicOpType.MAX, AtomicOpType.MIN)
    if is_extremum and is_float(ref.dtype):
        return _float_extremum(builder, atomic_type, places, value, mask, ref.dtype)
    return _update(builder, _kind(atomic_type, ref.dtype), places.pointers, value, mask)


def _float_extremum(
    builder: TritonBuilder,
    operation: AtomicOpType,
    places: Places,
    value: Any,
    mask: Any,
    dtype: Any,
) -> Any:
    """Builds the atomic maximum or minimum of floating-point numbers from their bits.

    The bits of non-negative numbers have the order of signed integers. The bits of negative numbers
    have the reverse order of unsigned integers. So there are two updates, one for each sign.
    """
    if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise KernelLoweringError(
            f"atomic_{operation.value} in Triton works on integers and on float32 and float64, "
            f"got {dtype}"
        )
    integer = element_type(np.dtype(f"i{np.dtype(dtype).itemsize}"))
    bits = builder.create("tt.bitcast", builder.like(value, integer), (value,))
    zero = builder.full(0, places.shape, np.dtype(f"i{np.dtype(dtype).itemsize}"))
    # 5 stands for the predicate "signed greater or equal".
    is_positive = builder.compare(5, bits, zero)
    is_negative = builder.compare(2, bits, zero)
    pointer = pointer_type(integer)
    pointers = builder.create(
        "tt.bitcast", builder.like(places.pointers, pointer), (places.pointers,)
    )
    is_max = operation is AtomicOpType.MAX
    signed, unsigned = (_MAX, _UMIN) if is_max else (_MIN, _UMAX)
    first = _update(builder, signed, pointers, bits, _and(builder, mask, is_positive))
    second = _update(builder, unsigned, pointers, bits, _and(builder, mask, is_negative))
    old = builder.create("arith.select", bits.type, (is_positive, first, second))
    return builder.create("tt.bitcast", value.type, (old,))


@triton_rules.define(atomic_cas_p)
def _atomic_cas(builder: TritonBuilder, *operands: Any, args_tree: Any) -> Any:
    places, parts = _places(builder, operands[0], operands, args_tree, _first_two)
    _, _, compared, value = parts
    attributes = {"sem": mlir.i32(_ACQUIRE_RELEASE), "scope": mlir.i32(_WHOLE_GPU)}
    operands = (places.pointers, compared, value)
    return builder.create("tt.atomic_cas", value.type, operands, attributes)
