# SPDX-License-Identifier: Apache-2.0
"""Masked loads and stores, and atomic updates, of references in kernels.

The operands of the primitives are flattened, with the structure ``args_tree``:

- ``masked_load(ref, transforms, mask, other)``: reads; returns ``other`` where the mask is false.
- ``masked_swap(ref, transforms, value, mask)``: writes where the mask is true, returns old values.
- ``atomic_rmw(ref, transforms, value, mask)``: reads, combines and writes in one step.
- ``atomic_cas(ref, transforms, compared, value)``: writes if the old value equals ``compared``.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.documents import Concatenation, Document, Nest, Text
from olympus_ir.programs.olympuspr import Equation
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.print_rules import printing_rules
from olympus_ir.references.indexing import NDIndexer
from olympus_ir.references.primitives import ref_and_transforms
from olympus_ir.references.transforms import transformed_aval
from olympus_ir.rules.references import shown_view
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_ir.types.effects import read_effect, write_effect
from olympus_ir.types.references import AbstractRef

from .annotations import RefLike

__all__ = [
    "AtomicOpType",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_cas_p",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_rmw_p",
    "atomic_xchg",
    "atomic_xor",
    "load",
    "load_p",
    "store",
    "swap_p",
]

load_p = Primitive("masked_load")
swap_p = Primitive("masked_swap")
atomic_rmw_p = Primitive("atomic_rmw")
atomic_cas_p = Primitive("atomic_cas")
for _primitive in (load_p, swap_p, atomic_rmw_p, atomic_cas_p):
    _primitive.spreads_varying = False
    _primitive.takes_refs = True


class AtomicOpType(enum.Enum):
    """Kinds of atomic updates."""

    XCHG = "xchg"
    ADD = "add"
    MAX = "max"
    MIN = "min"
    AND = "and"
    OR = "or"
    XOR = "xor"

    def __str__(self) -> str:
        return f"AtomicOpType.{self.name}"


# ---- result types ----


def _view(operation: str, ref: Any, transforms: Sequence[Any]) -> ShapedArray:
    if not isinstance(ref, AbstractRef):
        raise ValueError(f"`{operation}` expects a reference, got a value of type {ref}")
    return transformed_aval(ref.inner_aval, transforms)


def _check_shape(operation: str, name: str, aval: Any, view: ShapedArray) -> None:
    if aval is not None and aval.shape != view.shape:
        raise ValueError(
            f"`{operation}` reads and writes a part of shape {view.shape}, but {name} has the "
            f"shape {aval.shape}; broadcast it."
        )


def _check_dtype(operation: str, name: str, aval: Any, view: ShapedArray) -> None:
    if aval.dtype != view.dtype:
        raise ValueError(
            f"`{operation}` accesses a reference of dtype {dtypes.name_of(view.dtype)}, but {name} "
            f"has the dtype {dtypes.name_of(aval.dtype)}; convert it, with `astype` for example."
        )


@load_p.def_effectful_abstract_eval
def _load_types(*flat: Any, args_tree: Any, **params: Any) -> Any:
    ref, transforms, mask, other = pytrees.tree_unflatten(args_tree, flat)
    view = _view("load", ref, transforms)
    _check_shape("load", "the mask", mask, view)
    if other is not None and other.shape:
        _check_shape("load", "`other`", other, view)
    return view, frozenset({read_effect})


@swap_p.def_effectful_abstract_eval
def _swap_types(*flat: Any, args_tree: Any, **params: Any) -> Any:
    ref, transforms, value, mask = pytrees.tree_unflatten(args_tree, flat)
    view = _view("store", ref, transforms)
    _check_shape("store", "the value", value, view)
    _check_dtype("store", "the value", value, view)
    _check_shape("store", "the mask", mask, view)
    return view, frozenset({write_effect})


@atomic_rmw_p.def_effectful_abstract_eval
def _atomic_rmw_types(*flat: Any, args_tree: Any, atomic_type: AtomicOpType) -> Any:
    ref, transforms, value, mask = pytrees.tree_unflatten(args_tree, flat)
    name = f"atomic_{atomic_type.value}"
    view = _view(name, ref, transforms)
    if atomic_type in (AtomicOpType.AND, AtomicOpType.OR, AtomicOpType.XOR) and not (
        dtypes.issubdtype(view.dtype, np.integer)
    ):
        raise ValueError(f"`{name}` works on integers, got a reference of dtype {view.dtype}")
    _check_shape(name, "the value", value, view)
    _check_dtype(name, "the value", value, view)
    _check_shape(name, "the mask", mask, view)
    return view, frozenset({write_effect})


@atomic_cas_p.def_effectful_abstract_eval
def _atomic_cas_types(*flat: Any, args_tree: Any) -> Any:
    ref, transforms, compared, value = pytrees.tree_unflatten(args_tree, flat)
    view = _view("atomic_cas", ref, transforms)
    if view.shape:
        raise ValueError(
            f"`atomic_cas` expects a reference to a scalar, got a reference of shape {view.shape}"
        )
    for operand_name, aval in (("`cmp`", compared), ("`val`", value)):
        _check_shape("atomic_cas", operand_name, aval, view)
        _check_dtype("atomic_cas", operand_name, aval, view)
    return view, frozenset({write_effect})


# ---- functions ----


def load(
    ref: RefLike,
    *,
    mask: ArrayLike | None = None,
    other: ArrayLike | None = None,
    cache_modifier: str | None = None,
    eviction_policy: str | None = None,
    volatile: bool = False,
) -> Array:
    """Reads a reference, or a view of one, where a mask is true.

    Args:
      ref: the reference, or ``ref.at[...]``.
      mask: booleans of the result's shape. Where they are false, memory is not accessed, so the
        index may be out of bounds.
      other: value where the mask is false; unspecified by default.
      cache_modifier: the treatment of the data by caches, in Triton's terms.
      eviction_policy: eviction policy of caches, in Triton's terms.
      volatile: whether the memory is read even if its contents seem to be known.

    Returns:
      The array that was read.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import ShapeDtypeStruct, lax
      >>> from olympus_pallas import ds, pallas_call, program_id
      >>> def kernel(x_ref, o_ref):
      ...     start = program_id(0) * 4
      ...     mask = start + lax.iota("int32", 4) < 6
      ...     o_ref[ds(start, 4)] = load(x_ref.at[ds(start, 4)], mask=mask, other=-1.0)
      >>> out = ShapeDtypeStruct((8,), "float32")
      >>> pallas_call(kernel, out, grid=(2,), interpret=True)(np.ones(6, np.float32))
      Array([ 1.,  1.,  1.,  1.,  1.,  1., -1., -1.], dtype=float32)
    """
    ref, transforms = ref_and_transforms("load", ref)
    if other is not None:
        dtype = transformed_aval(get_aval(ref).inner_aval, transforms).dtype
        if get_aval(other).dtype != dtype:
            other = lax.convert_element_type(other, dtype)
    flat, tree = pytrees.tree_flatten((ref, transforms, mask, other))
    return load_p.bind(
        *flat,
        args_tree=tree,
        cache_modifier=cache_modifier,
        eviction_policy=eviction_policy,
        is_volatile=volatile,
    )


def _masked_swap(ref: Any, value: Any, mask: Any, eviction_policy: str | None) -> Any:
    ref, transforms = ref_and_transforms("store", ref)
    flat, tree = pytrees.tree_flatten((ref, transforms, value, mask))
    return swap_p.bind(*flat, args_tree=tree, eviction_policy=eviction_policy)


def store(
    ref: RefLike,
    val: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    eviction_policy: str | None = None,
) -> None:
    """Writes a reference, or a view of one, where a mask is true.

    Args:
      ref: the reference, or ``ref.at[...]``.
      val: an array of the shape and dtype of the elements written.
      mask: booleans of the shape of ``val``; where they are false, memory is not accessed.
      eviction_policy: eviction policy of caches, in Triton's terms.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import ShapeDtypeStruct
      >>> from olympus_pallas import pallas_call
      >>> def kernel(x_ref, o_ref):
      ...     o_ref[...] = x_ref[...]
      ...     store(o_ref, -x_ref[...], mask=x_ref[...] > 1)
      >>> pallas_call(kernel, ShapeDtypeStruct((3,), "int32"), interpret=True)(np.arange(3))
      Array([ 0,  1, -2], dtype=int32)
    """
    _masked_swap(ref, val, mask, eviction_policy)


def _atomic(x_ref_or_view: Any, idx: Any, val: Any, mask: Any, kind: AtomicOpType) -> Any:
    ref, transforms = ref_and_transforms(f"atomic_{kind.value}", x_ref_or_view)
    aval = transformed_aval(get_aval(ref).inner_aval, transforms)
    if idx is not None and idx is not Ellipsis and idx != ():
        transforms = (*transforms, NDIndexer.from_indices_shape(idx, aval.shape, validate=True))
    if isinstance(val, int | float) and get_aval(val).dtype != aval.dtype:
        val = lax.convert_element_type(val, aval.dtype)
    flat, tree = pytrees.tree_flatten((ref, transforms, val, mask))
    return atomic_rmw_p.bind(*flat, args_tree=tree, atomic_type=kind)


def _atomic_function(kind: AtomicOpType, verb: str) -> Any:
    def function(
        x_ref_or_view: RefLike, idx: Any, val: ArrayLike, *, mask: ArrayLike | None = None
    ) -> Array:
        return _atomic(x_ref_or_view, idx, val, mask, kind)

    function.__name__ = function.__qualname__ = f"atomic_{kind.value}"
    function.__doc__ = f"""Atomically {verb}; returns the old elements.

    Args:
      x_ref_or_view: the reference or a view of one.
      idx: index of a part: integers, slices, `ds`, integer arrays; ``()`` for everything.
      val: an array of the shape and dtype of that part.
      mask: booleans of that shape; where they are false, nothing happens.

    Returns:
      The values before.
    """
    return function


atomic_xchg = _atomic_function(AtomicOpType.XCHG, "replaces a part of a reference")
atomic_add = _atomic_function(AtomicOpType.ADD, "adds to a part of a reference")
atomic_max = _atomic_function(AtomicOpType.MAX, "takes the maximum of the old value and a new one")
atomic_min = _atomic_function(AtomicOpType.MIN, "takes the minimum of the old value and a new one")
atomic_and = _atomic_function(AtomicOpType.AND, "keeps the bits that a value has too")
atomic_or = _atomic_function(AtomicOpType.OR, "adds the bits of a value")
atomic_xor = _atomic_function(AtomicOpType.XOR, "flips the bits of a value")


def atomic_cas(ref: RefLike, cmp: ArrayLike, val: ArrayLike) -> Array:
    """Replaces a scalar in memory if it equals another scalar, atomically.

    Args:
      ref: a reference to a scalar, or a view of one element.
      cmp: scalar that the old value is compared with.
      val: scalar that is written if they are equal.

    Returns:
      The old value.
    """
    ref, transforms = ref_and_transforms("atomic_cas", ref)
    flat, tree = pytrees.tree_flatten((ref, transforms, cmp, val))
    return atomic_cas_p.bind(*flat, args_tree=tree)


# ---- printing ----


def _print_load(equation: Equation, printer: Any) -> Document:
    ref, transforms, mask, other = pytrees.tree_unflatten(
        equation.params["args_tree"], equation.invars
    )
    parts = [
        Nest(2, printer.binders(equation.outvars)),
        Text(" <- ", annotations=printer.annotations(equation)),
        shown_view(printer, ref, transforms),
    ]
    if mask is not None:
        parts += [Text(" mask="), printer.atom(mask)]
    if other is not None:
        parts += [Text(" other="), printer.atom(other)]
    return Concatenation(parts)


def _print_swap(equation: Equation, printer: Any) -> Document:
    ref, transforms, value, mask = pytrees.tree_unflatten(
        equation.params["args_tree"], equation.invars
    )
    (previous,) = equation.outvars
    position = shown_view(printer, ref, transforms)
    shown_mask = [] if mask is None else [Text(" mask="), printer.atom(mask)]
    binders = Text("_") if printer.is_hidden(previous) else printer.binders([previous])
    arrow = Text(" <- ", annotations=printer.annotations(equation))
    return Concatenation(
        [
            *[Nest(2, binders), Text(", "), position, arrow, position, Text(", ")],
            *[printer.atom(value), *shown_mask],
        ]
    )


printing_rules.define(load_p, _print_load)
printing_rules.define(swap_p, _print_swap)
