# SPDX-License-Identifier: Apache-2.0
"""Selection of one of several references by a computed index: `select_ref`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.references.values import RefMethods

from .annotations import IntLike, RefLike

__all__ = ["SelectedRef", "select_ref", "with_selected"]


class SelectedRef(RefMethods):
    """One of several references of the same type.

    Each operation on it runs in a branch of a `lax.switch`.

    Attributes:
      index: index of the selected reference.
      refs: the references.
    """

    __slots__ = ("index", "refs")

    def __init__(self, index: Any, refs: Sequence[Any]) -> None:
        self.index = index
        self.refs = tuple(refs)

    def _switch(self, function: Callable[[Any], Any]) -> Any:
        return lax.switch(self.index, [lambda ref=ref: function(ref) for ref in self.refs])

    def _view(self, transform: Any) -> SelectedRef:  # type: ignore[override]
        return SelectedRef(self.index, [ref._view(transform) for ref in self.refs])

    def _array_aval(self) -> Any:
        return self.refs[0]._array_aval()

    def __getitem__(self, idx: Any) -> Any:
        return self._switch(lambda ref: ref[idx])

    def __setitem__(self, idx: Any, value: Any) -> None:
        self._switch(lambda ref: ref.set(value, idx))

    def get(self, idx: Any = ()) -> Any:
        """Reads the reference, or the part that an index selects."""
        return self._switch(lambda ref: ref.get(idx))

    def set(self, value: Any, idx: Any = ()) -> None:
        """Writes the reference, or the part that an index selects."""
        self._switch(lambda ref: ref.set(value, idx))

    def swap(self, value: Any, idx: Any = ()) -> Any:
        """Writes the reference, or the part that an index selects; returns the old elements."""
        return self._switch(lambda ref: ref.swap(value, idx))

    def addupdate(self, value: Any, idx: Any = ()) -> None:
        """Adds to the reference, or to the part that an index selects."""
        self._switch(lambda ref: ref.addupdate(value, idx))

    def __repr__(self) -> str:
        return f"SelectedRef(index={self.index!r}, refs={self.refs!r})"


def with_selected(refs: Sequence[Any], function: Callable[..., None]) -> None:
    """Calls a function on references; each choice of a selected reference becomes a branch."""
    for position, ref in enumerate(refs):
        if isinstance(ref, SelectedRef):
            ref._switch(
                lambda chosen, place=position: with_selected(
                    [*refs[:place], chosen, *refs[place + 1 :]], function
                )
            )
            return
    function(*refs)


def select_ref(idx: IntLike, *refs: RefLike) -> SelectedRef:
    """Selects one of several references by an index that is computed while the kernel runs.

    Args:
      idx: the index of the reference, an integer scalar. An index out of range selects the nearest
        reference.
      *refs: references, or views of them, of the same shape and dtype.

    Returns:
      A stand-in for the reference, which can be read, written, viewed and copied.

    Raises:
      ValueError: if there are no references, or their types differ.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import ShapeDtypeStruct
      >>> from olympus_pallas import pallas_call
      >>> def kernel(which_ref, x_ref, y_ref, o_ref):
      ...     o_ref[...] = select_ref(which_ref[()], x_ref, y_ref)[...]
      >>> pallas_call(kernel, ShapeDtypeStruct((2,), "int32"), interpret=True)(
      ...     np.int32(1), np.zeros(2, np.int32), np.ones(2, np.int32))
      Array([1, 1], dtype=int32)
    """
    if not refs:
        raise ValueError("select_ref chooses among references, got none")
    types = {(tuple(ref.shape), str(ref.dtype)) for ref in refs}
    if len(types) > 1:
        raise ValueError(
            f"select_ref chooses among references of the same type, got {sorted(types)}"
        )
    return SelectedRef(idx, refs)
