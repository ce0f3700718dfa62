# SPDX-License-Identifier: Apache-2.0
"""Concrete references, tracers of references and views, and their methods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from ..diagnostics.traceback_filtering import api_boundary, boundary_class
from ..programs.staging import StagingTrace, StagingTracer, new_tracer, staging_rules, tracer_types
from ..programs.tracing import Tracer, register_tracer_type
from ..trees import pytrees
from ..trees.operands import register_compound_operand
from ..trees.pytree_paths import GetAttrKey
from ..trees.pytree_registry import register_pytree_with_keys
from ..types.avals import (
    ShapedArray,
    aval_method,
    aval_property,
    get_aval,
    register_value_type,
)
from ..types.references import AbstractRef
from . import primitives as references
from .indexing import NDIndexer
from .transforms import (
    BitcastTransform,
    TransposeTransform,
    reshape_of,
    transformed_aval,
)

__all__ = ["Ref", "RefMethods", "TransformedRef"]


@boundary_class
class RefMethods:
    """Methods of references and of their views.

    Tracer classes for values of type `AbstractRef` list this class as their first base, so that its
    methods take precedence.
    """

    __slots__ = ()
    is_ref = True

    def _chain(self) -> tuple[Any, tuple]:
        """Returns the underlying reference and the transforms from its array to this view."""
        return self, ()

    def _view(self, transform: Any) -> TransformedRef:
        ref, transforms = self._chain()
        view = TransformedRef(ref, (*transforms, transform))
        view._array_aval()  # this raises an error if the transform does not fit the view
        return view

    def _array_aval(self) -> ShapedArray:
        """Returns the type of the array that a read of this view returns."""
        ref, transforms = self._chain()
        return transformed_aval(get_aval(ref).inner_aval, transforms)  # type: ignore[attr-defined]

    # ---- reading and writing ----

    def __getitem__(self, idx: Any) -> Any:
        return references.get(self, idx)

    def __setitem__(self, idx: Any, value: Any) -> None:
        references.swap(self, idx, value)

    def get(self, idx: Any = ()) -> Any:
        """Reads the array, or the part that an index selects."""
        return references.get(self, idx)

    def set(self, value: Any, idx: Any = ()) -> None:
        """Writes the array, or the part that an index selects."""
        references.set(self, idx, value)

    def swap(self, value: Any, idx: Any = ()) -> Any:
        """Writes the array, or the part that an index selects, and returns the old value."""
        return references.swap(self, idx, value)

    def addupdate(self, value: Any, idx: Any = ()) -> None:
        """Adds to the array, or to the part that an index selects."""
        references.addupdate(self, idx, value)

    # ---- views ----

    @property
    def at(self) -> RefIndexer:
        """Indexer: ``ref.at[idx]`` is a view of a part, and reads nothing."""
        return RefIndexer(self)

    def reshape(self, *shape: Any) -> TransformedRef:
        """Returns a view with another shape."""
        return self._view(reshape_of(self._array_aval().shape, shape))

    def transpose(self, *permutation: Any) -> TransformedRef:
        """Returns a view with permuted dimensions, by default in reverse order."""
        if len(permutation) == 1 and not isinstance(permutation[0], int):
            (permutation,) = permutation
        if not permutation:
            permutation = tuple(reversed(range(self.ndim)))
        return self._view(TransposeTransform(tuple(permutation)))

    @property
    def T(self) -> TransformedRef:
        """Returns a view with the dimensions in reverse order."""
        return self.transpose()

    def bitcast(self, dtype: Any) -> TransformedRef:
        """Returns a view whose bits are reinterpreted as another dtype."""
        return self._view(BitcastTransform(np.dtype(dtype)))

    # ---- properties of the type ----

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array_aval().shape

    @property
    def dtype(self) -> Any:
        return self._array_aval().dtype

    @property
    def ndim(self) -> int:
        return self._array_aval().ndim

    @property
    def size(self) -> int:
        return self._array_aval().size

    def __len__(self) -> int:
        return len(self._array_aval())

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"a reference is not iterable: iterate over its value, `ref[...]`; {self}")

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"a reference is not an array: read it first, with `ref[...]`; got {self}")

    def __bool__(self) -> bool:
        return True

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def _refuse(name: str) -> Any:
    def operation(self: Any, *others: Any) -> NoReturn:
        raise TypeError(
            f"unsupported operation {name} on a reference: read it first, with `ref[...]`; the "
            f"reference is {self!r}"
        )

    operation.__name__ = name
    return api_boundary(operation)


# Tracers of references inherit the operators of arrays, which do not apply to references.
for _name in "add sub mul truediv floordiv mod pow matmul lshift rshift and or xor divmod".split():
    setattr(RefMethods, f"__{_name}__", _refuse(f"__{_name}__"))
    setattr(RefMethods, f"__r{_name}__", _refuse(f"__r{_name}__"))
for _name in "neg pos abs invert lt le gt ge float int complex index round".split():
    setattr(RefMethods, f"__{_name}__", _refuse(f"__{_name}__"))


class RefIndexer:
    """Value of ``ref.at``. Indexing it returns a view of the reference."""

    __slots__ = ("_ref",)

    def __init__(self, ref: RefMethods) -> None:
        self._ref = ref

    def __getitem__(self, idx: Any) -> TransformedRef:
        viewed_by = getattr(idx, "view_of", None)
        if viewed_by is not None:  # another package defines the type of the index
            return viewed_by(self._ref)
        shape = self._ref.shape
        return self._ref._view(NDIndexer.from_indices_shape(idx, shape, validate=True))


class TransformedRef(RefMethods):
    """View of a reference.

    Attributes:
      ref: the reference.
      transforms: the chain of transforms from the reference's array to the view.
    """

    __slots__ = ("ref", "transforms")

    def __init__(self, ref: Any, transforms: tuple) -> None:
        self.ref = ref
        self.transforms = tuple(transforms)

    def _chain(self) -> tuple[Any, tuple]:
        return self.ref, self.transforms

    @property
    def type(self) -> ShapedArray:
        """The type of the view."""
        return self._array_aval()

    @property
    def is_dynamic_size(self) -> bool:
        """Returns whether any dimension of the view has a size that is known only at run time."""
        return not all(isinstance(size, int) for size in self.shape)

    @property
    def multiref(self) -> bool:
        """Returns whether the view refers to several references at once."""
        return isinstance(self.ref, tuple | list)

    def __repr__(self) -> str:
        return f"TransformedRef(ref={self.ref!r}, transforms={self.transforms!r})"


class _OpenedView:
    """Node of pytrees in place of a view: the reference and the indices are its leaves.

    The node holds transforms as tuples, so a path contains positions, as in ``transforms[0][0]``.
    """

    __slots__ = ("view",)

    def __init__(self, view: TransformedRef) -> None:
        self.view = view

    def children(self) -> tuple[Any, Any]:
        # Static indices have the same dtype whether 64-bit types are enabled or not.
        parts = map(pytrees.tree_flatten, self.view.transforms)
        return self.view.ref, tuple([self.operands(leaves) for leaves, _ in parts])

    @staticmethod
    def operands(leaves: list[Any]) -> tuple:
        return tuple([np.int32(leaf) if type(leaf) is int else leaf for leaf in leaves])

    def structures(self) -> tuple:
        return tuple(map(pytrees.tree_structure, self.view.transforms))


def _children_with_keys(node: _OpenedView) -> tuple[Any, tuple]:
    keys = map(GetAttrKey, ("ref", "transforms"))
    return tuple(zip(keys, node.children(), strict=True)), node.structures()


def _view_of(structures: tuple, children: Any) -> Any:
    ref, operands = children
    return TransformedRef(ref, tuple(map(pytrees.tree_unflatten, structures, operands)))


register_pytree_with_keys(
    _OpenedView,
    _children_with_keys,
    _view_of,
    lambda node: (node.children(), node.structures()),
)
register_compound_operand(TransformedRef, _OpenedView)


def _refuse_as_array(view: TransformedRef) -> NoReturn:
    raise TypeError(
        "TransformedRefs cannot be abstractified: a view of a reference may only be an argument of "
        "jit, checkpoint, shard_map, branches and loops. Elsewhere pass the reference, and make "
        f"the view inside of the function; got {view!r}"
    )


register_value_type(TransformedRef, _refuse_as_array)


@register_tracer_type
class StagingRefTracer(RefMethods, StagingTracer):  # pyright: ignore[reportIncompatibleMethodOverride]
    """Tracer of a reference variable in a program that is being recorded."""

    __slots__ = ()


tracer_types[AbstractRef] = StagingRefTracer

# The members of a tracer are looked up in its type, so the type must have these members.
for _name in ("addupdate", "bitcast", "get", "reshape", "set", "swap", "transpose"):
    setattr(AbstractRef, _name, aval_method(getattr(RefMethods, _name)))
for _name in ("T", "at"):
    setattr(AbstractRef, _name, aval_property(getattr(RefMethods, _name).fget))


def _record_ref(primitive: Any) -> Any:
    def record(trace: StagingTrace, args: Any, params: dict[str, Any]) -> StagingRefTracer:
        atom = trace.record(primitive, args, params).atom
        return new_tracer(StagingRefTracer, trace, atom)

    return record


for _primitive in (references.new_ref_p, references.empty_ref_p):
    staging_rules.define(_primitive, _record_ref(_primitive))


class _RefClass(type):
    """Metaclass that makes tracers of references instances of `Ref`."""

    def __instancecheck__(cls, instance: object) -> bool:
        return type.__instancecheck__(cls, instance) or (
            isinstance(instance, Tracer) and isinstance(instance.aval, AbstractRef)
        )


@boundary_class
class Ref(RefMethods, metaclass=_RefClass):
    """Mutable reference to an array.

    `olympus.new_ref` makes references. A compiled function can take a reference as an argument or
    close over it. The writes of the function are visible after the call.

    Args:
      aval: the type of the reference.
      refs: the initial array.

    Example:
      >>> from olympus_ir.references.primitives import new_ref
      >>> ref = new_ref(np.zeros(2))
      >>> ref[1] += 3.0
      >>> ref
      Ref([0., 3.], dtype=float32)
    """

    __slots__ = ("__weakref__", "_array", "_aval", "_owned")

    def __init__(self, aval: AbstractRef, refs: Any) -> None:
        self._aval = aval
        self._array = refs
        # True if only this reference uses the array. The next write may then reuse the memory.
        self._owned = False

    @property
    def aval(self) -> AbstractRef:
        return self._aval

    def _array_aval(self) -> ShapedArray:
        return self._aval.inner_aval

    def _current(self) -> Any:
        """Returns the current array, and marks it as shared, so writes do not reuse its memory."""
        self._owned = False
        return self._array

    def _replace(self, array: Any) -> None:
        """Replaces the array by an array that is not used elsewhere."""
        self._array = array
        self._owned = True

    @property
    def sharding(self) -> Any:
        return self._array.sharding

    @property
    def committed(self) -> bool:
        return self._array.committed

    @property
    def format(self) -> Any:
        return self._array.format

    def unsafe_buffer_pointer(self) -> int:
        """Returns the address of the array's memory, which changes with every write."""
        return self._array.unsafe_buffer_pointer()

    def block_until_ready(self) -> Ref:
        """Waits until all writes have finished."""
        self._array.block_until_ready()
        return self

    def __reduce__(self) -> Any:
        return Ref, (self._aval, self._current())

    def __copy__(self) -> Ref:
        return Ref(self._aval, self._current())

    def __deepcopy__(self, memo: Any) -> Ref:
        return Ref(self._aval, self._current())

    def __repr__(self) -> str:
        text = repr(self._array)
        return f"Ref{text[5:]}" if text.startswith("Array") else f"Ref({text})"

    __str__ = __repr__


register_value_type(Ref, lambda ref: ref._aval)
