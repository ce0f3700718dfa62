# SPDX-License-Identifier: Apache-2.0
"""Creation, reading and writing of mutable references, and addition in place.

Primitives, with their operands and parameters in equations:

- ``get(ref, *leaves, tree)``: reads a value; printed ``b:f32[] <- a[0]``.
- ``swap(ref, value, *leaves, tree)``: writes a value and returns the old value; printed ``a[0] <-
  c`` if the old value is unused, else ``b:f32[], a[0] <- a[0], c``.
- ``addupdate(ref, value, *leaves, tree)``: adds in place, without results; printed
  ``a[i:i+8,:] += c``.
- ``new_ref(array, memory_space, kind)``, ``empty_ref(ty, memory_space)``: makes a new reference.
- ``freeze(ref)``: ends the life of a reference and returns its array; ``free_ref(ref)`` only ends
  its life.

``tree`` is the structure of a tuple of transforms (`olympus_ir.references.transforms`, and
`olympus_ir.references.indexing.NDIndexer`), whose leaves are the last operands. ``transforms_of``
reconstructs the transforms from an equation's leaves and ``tree``.

`olympus_ir.lax` does not import this module, so programs without references do not load it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lax.core.values import Array, ArrayLike
from ..lax.elementwise.conversion import convert_element_type
from ..programs.primitives import instruction
from ..programs.tracing import Tracer
from ..types import dtypes
from ..types.avals import AbstractValue, ShapedArray, get_aval
from ..types.effects import accum_effect, allocation_effect, read_effect, write_effect
from ..types.references import AbstractRef, array_of_ref
from .indexing import NDIndexer
from .transforms import flatten_transforms, transformed_aval, unflatten_transforms

if TYPE_CHECKING:
    from .values import Ref, RefMethods


__all__ = [
    "addupdate",
    "addupdate_p",
    "empty_ref",
    "empty_ref_p",
    "free_ref",
    "free_ref_p",
    "freeze",
    "freeze_p",
    "get",
    "get_p",
    "new_ref",
    "new_ref_p",
    "ref_and_transforms",
    "set",
    "swap",
    "swap_p",
]

get_p = instruction("get", family="references")
swap_p = instruction("swap", family="references")
addupdate_p = instruction("addupdate", multiple_results=True, family="references")
new_ref_p = instruction("new_ref", family="references")
empty_ref_p = instruction("empty_ref", family="references")
freeze_p = instruction("freeze", family="references")
free_ref_p = instruction("free_ref", multiple_results=True, family="references")

for _primitive in (get_p, swap_p, addupdate_p, new_ref_p, empty_ref_p, freeze_p, free_ref_p):
    # The result varies over the mesh axes of the reference only, even if other operands vary over
    # more.
    _primitive.spreads_varying = False
    _primitive.takes_refs = True

Types = tuple[Any, frozenset]


# ---- shape rules ----


def transforms_of(leaves: Sequence[Any], tree: Any) -> tuple:
    """Returns an equation's transforms, given its leaves: operands, variables or types."""
    return unflatten_transforms(leaves, tree)


def _view_aval(operation: str, ref: AbstractValue, leaves: Sequence[Any], tree: Any) -> ShapedArray:
    if not isinstance(ref, AbstractRef):
        raise ValueError(
            f"`{operation}` expects a reference, got a value of type {ref.str_short()}"
        )
    for leaf in leaves:
        if not dtypes.issubdtype(leaf.dtype, np.integer):
            raise TypeError(
                f"an index of `{operation}` must be of integers, got {leaf.str_short()}"
            )
    view = transformed_aval(ref.inner_aval, transforms_of(leaves, tree))
    varying = view.vma.union(*[leaf.vma for leaf in leaves])
    return view if varying == view.vma else view.update(vma=varying)


_STORED_REF = (
    "Cannot store a Ref into another Ref. Did you forget to load from it using `[...]`? Write "
    "`ref[...] = other[...]`."
)


def _check_value(operation: str, ref: Any, view: ShapedArray, value: Any, transforms: Any) -> None:
    if value.is_ref:
        raise ValueError(_STORED_REF)
    if value.shape != view.shape:
        raise ValueError(
            f"Invalid shape for `{operation}`. Ref shape: {ref.shape}. Expected shape: "
            f"{view.shape}. Value shape: {value.shape}. Transforms: {transforms}. Broadcast the "
            "value to the expected shape."
        )
    if value.dtype != view.dtype:
        raise ValueError(
            f"Invalid dtype for `{operation}`. Ref dtype: {dtypes.name_of(view.dtype)}. Value "
            f"dtype: {dtypes.name_of(value.dtype)}. Convert the value, with `astype` for example."
        )
    extra = value.vma - view.vma
    if extra:
        raise ValueError(
            f"`{operation}` of a value that varies over the mesh axes {sorted(map(str, extra))} to "
            f"a reference that does not, of type {ref.str_short()}. Make the reference of a value "
            "that varies over them."
        )


@get_p.def_effectful_abstract_eval
def _get_types(ref: AbstractValue, *leaves: Any, tree: Any) -> Types:
    return _view_aval("get", ref, leaves, tree), frozenset({read_effect})


@swap_p.def_effectful_abstract_eval
def _swap_types(ref: AbstractValue, value: Any, *leaves: Any, tree: Any) -> Types:
    view = _view_aval("swap", ref, leaves, tree)
    _check_value("swap", ref, view, value, transforms_of(leaves, tree))
    return view, frozenset({write_effect})


@addupdate_p.def_effectful_abstract_eval
def _addupdate_types(ref: AbstractValue, value: Any, *leaves: Any, tree: Any) -> Types:
    view = _view_aval("addupdate", ref, leaves, tree)
    _check_value("addupdate", ref, view, value, transforms_of(leaves, tree))
    return (), frozenset({accum_effect})


@new_ref_p.def_effectful_abstract_eval
def _new_ref_types(array: AbstractValue, *, memory_space: Any, kind: Any) -> Types:
    if not isinstance(array, ShapedArray):
        raise TypeError(f"a reference refers to an array, got a value of type {array.str_short()}")
    return AbstractRef(array, memory_space, kind), frozenset({allocation_effect})


@empty_ref_p.def_effectful_abstract_eval
def _empty_ref_types(*, ty: ShapedArray, memory_space: Any) -> Types:
    return AbstractRef(ty, memory_space), frozenset({allocation_effect})


@freeze_p.def_effectful_abstract_eval
def _freeze_types(ref: AbstractValue) -> Types:
    return array_of_ref(ref), frozenset({allocation_effect})


@free_ref_p.def_effectful_abstract_eval
def _free_ref_types(ref: AbstractValue) -> Types:
    array_of_ref(ref)
    return (), frozenset({allocation_effect})


def check_no_memory_space(memory_space: Any) -> None:
    """Raises NotImplementedError if a reference outside of programs gets a memory space."""
    if memory_space is not None:
        raise NotImplementedError(
            "array ref with memory space only works inside of a `jit`. Put the array into the "
            "memory with device_put, and leave out `memory_space`."
        )


# ---- functions ----


def ref_and_transforms(function: str, ref: Any) -> tuple[Any, tuple]:
    """Returns the reference of a view, and the transforms from the reference to the view.

    Args:
      function: the name of the calling function, for the error message.
      ref: a reference, which has no transforms, or a view of one.

    Raises:
      ValueError: ``ref`` is neither a reference nor a view.
    """
    transforms = getattr(ref, "transforms", None)
    if isinstance(transforms, tuple):
        ref = ref.ref
    else:
        transforms = ()
    try:
        aval = get_aval(ref)
    except TypeError:
        aval = None
    if not isinstance(aval, AbstractRef):
        raise ValueError(f"Can only call `{function}` on a `Ref`: {ref}.")
    return ref, transforms


def _indexed(function: str, ref: Any, idx: Any) -> tuple[Any, tuple]:
    """Returns the reference of a view, and the view's transforms, followed by the index."""
    ref, transforms = ref_and_transforms(function, ref)
    if idx is None or idx is Ellipsis or (type(idx) is tuple and not idx):
        return ref, transforms
    shape = transformed_aval(get_aval(ref).inner_aval, transforms).shape  # type: ignore[attr-defined]
    # Outside of tracing, an index out of bounds raises an error. Compiled programs clamp it, as for
    # arrays.
    validate = not isinstance(ref, Tracer)
    indexer = NDIndexer.from_indices_shape(idx, shape, validate)
    return ref, (*transforms, indexer)


def _check_no_ref(value: Any) -> None:
    if getattr(value.__class__, "is_ref", False):
        raise ValueError(_STORED_REF)


def _scalar_for(ref: Any, value: Any) -> Any:
    """Converts a Python scalar to the reference's dtype if both are integers or both are floats.

    Raises:
      ValueError: the value is a reference or a view of one.
    """
    _check_no_ref(value)
    kind = value.__class__
    if kind is float or kind is int:
        dtype = get_aval(ref).dtype
        group = np.floating if kind is float else np.integer
        if dtypes.issubdtype(dtype, group) and get_aval(value).dtype != dtype:
            return convert_element_type(value, dtype)
    return value


def _value_for(ref: Any, value: Any) -> Any:
    """Converts a value to the reference's dtype if that needs no promotion.

    Integers become integers of the reference's size, and floats of a weak type, floats of it. The
    converted value has a strong type.

    Raises:
      ValueError: the value is a reference or a view of one.
    """
    value = _scalar_for(ref, value)
    aval = get_aval(value)
    if not isinstance(aval, ShapedArray) or value.__class__ in (bool, int, float, complex):
        return value
    dtype = get_aval(ref).dtype
    if aval.dtype == dtype and not aval.weak_type:
        return value
    weak_float = aval.weak_type and _both(dtype, aval.dtype, np.floating)
    if weak_float or _both(dtype, aval.dtype, np.integer):
        return convert_element_type(value, dtype)
    return value


def _both(left: Any, right: Any, group: Any) -> bool:
    return dtypes.issubdtype(left, group) and dtypes.issubdtype(right, group)


def get(ref: RefMethods, idx: Any = None) -> Array:
    """Reads a reference or a part of it; ``ref[idx]`` means the same.

    Args:
      ref: a reference, or a view of a reference.
      idx: integers, slices, `ds` and integer arrays; None for everything.

    Returns:
      The array that was read.

    Raises:
      ValueError: if ``ref`` is not a reference, or the index does not fit ``ref``.

    Example:
      >>> from olympus_ir.references.primitives import get, new_ref
      >>> get(new_ref(np.arange(4)), slice(1, 3))
      Array([1, 2], dtype=int32)
    """
    ref, transforms = _indexed("ref_get", ref, idx)
    leaves, tree = flatten_transforms(transforms)
    return get_p.bind(ref, *leaves, tree=tree)


def swap(ref: RefMethods, idx: Any, value: ArrayLike) -> Array:
    """Writes a value to a part of a reference and returns the old value.

    Args:
      ref: a reference, or a view of a reference.
      idx: as in `get`.
      value: an array with the shape and dtype of the selected part.

    Raises:
      ValueError: if ``ref`` is not a reference, the index or the value does not fit ``ref``, or
        the value is a reference.

    Example:
      >>> from olympus_ir.references.primitives import new_ref, swap
      >>> ref = new_ref(np.arange(4))
      >>> swap(ref, 3, 7)
      Array(3, dtype=int32)
      >>> ref
      Ref([0, 1, 2, 7], dtype=int32)
    """
    ref, transforms = _indexed("ref_swap", ref, idx)
    leaves, tree = flatten_transforms(transforms)
    return swap_p.bind(ref, _value_for(ref, value), *leaves, tree=tree)


def set(ref: RefMethods, idx: Any, value: ArrayLike) -> None:
    """Writes a value to a part of a reference; ``ref[idx] = value`` means the same.

    Args:
      ref: a reference, or a view of a reference.
      idx: as in `get`.
      value: an array with the shape and dtype of the selected part.

    Example:
      >>> from olympus_ir.references import primitives as references
      >>> ref = references.new_ref(np.zeros(2))
      >>> references.set(ref, 0, 1.5)
      >>> ref
      Ref([1.5, 0. ], dtype=float32)
    """
    swap(ref, idx, value)


def addupdate(ref: RefMethods, idx: Any, x: ArrayLike) -> None:
    """Adds a value to a part of a reference, in place.

    If index arrays select an element several times, all of the added values accumulate.

    Args:
      ref: a reference, or a view of a reference.
      idx: as in `get`.
      x: an array with the shape and dtype of the selected part.

    Example:
      >>> from olympus_ir.references.primitives import addupdate, new_ref
      >>> ref = new_ref(np.zeros(3))
      >>> addupdate(ref, np.array([1, 1]), np.ones(2))
      >>> ref
      Ref([0., 2., 0.], dtype=float32)
    """
    ref, transforms = _indexed("ref_addupdate", ref, idx)
    leaves, tree = flatten_transforms(transforms)
    addupdate_p.bind(ref, _scalar_for(ref, x), *leaves, tree=tree)


def new_ref(init_val: Any, *, memory_space: Any = None, kind: str | None = None) -> Ref:
    """Makes a reference that holds a copy of an array.

    Args:
      init_val: the array.
      memory_space: the memory space of the array; None for the default of the device.
      kind: the purpose of the reference, for interpreters that need it.

    Returns:
      A `Ref`. Read it with ``ref[...]``, and write it with ``ref[...] = value``. `freeze` ends the
      reference's life and returns its array.

    Raises:
      TypeError: if ``init_val`` is not an array.
      NotImplementedError: ``memory_space`` is given outside of a compiled function.

    Example:
      >>> from olympus_ir.references.primitives import new_ref
      >>> ref = new_ref(np.arange(3.0))
      >>> ref[0] = 5.0
      >>> ref[...]
      Array([5., 1., 2.], dtype=float32)
    """
    return new_ref_p.bind(init_val, memory_space=memory_space, kind=kind)


def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """Makes a reference with unspecified elements.

    Args:
      ty: the type of the array, any object with shape and dtype.
      memory_space: the memory space of the array.

    Example:
      >>> from olympus_ir import ShapedArray
      >>> from olympus_ir.references.primitives import empty_ref
      >>> empty_ref(ShapedArray((2,), "int32")).shape
      (2,)
    """
    if not isinstance(ty, ShapedArray):
        ty = ShapedArray(ty.shape, dtypes.canonicalize_dtype(ty.dtype))
    return empty_ref_p.bind(ty=ty, memory_space=memory_space)


def freeze(ref: Any) -> Array:
    """Returns the array that a reference holds; the reference must not be used afterwards.

    If ``ref`` is an array, it is returned unchanged.

    Example:
      >>> from olympus_ir.references.primitives import freeze, new_ref
      >>> freeze(new_ref(1.0))
      Array(1., dtype=float32, weak_type=True)
    """
    if not isinstance(get_aval(ref), AbstractRef):
        return ref
    return freeze_p.bind(ref)


def free_ref(ref: Ref) -> None:
    """Ends the life of a reference.

    Example:
      >>> from olympus_ir.references.primitives import free_ref, new_ref
      >>> free_ref(new_ref(1.0))
    """
    if not isinstance(get_aval(ref), AbstractRef):
        raise ValueError(f"Can only call `free_ref` on a `Ref`: {ref}.")
    free_ref_p.bind(ref)
