# SPDX-License-Identifier: Apache-2.0
"""Boxes: mutable objects that hold a pytree of arrays, whose structure may change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from olympus_batching.tracers import BatchTracer
from olympus_ir.programs.mutable_types import cur_qdd
from olympus_ir.programs.staging import StagingTracer
from olympus_ir.programs.tracing import Tracer
from olympus_ir.settings.naming import naming
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import AbstractValue, get_aval

from .primitives import AvalQDD, HiPrimitive, MutableHiType, register_hitype

__all__ = ["Box", "BoxTy", "BoxTypeState", "box_get", "box_set", "new_box"]


@dataclass(frozen=True)
class BoxTypeState:
    """The state of a box's type: the types of the arrays that it holds, and their structure.

    Attributes:
      leaf_avals: the types of the leaves.
      treedef: the structure of the pytree.
    """

    leaf_avals: tuple[AbstractValue, ...]
    treedef: Any


@dataclass(frozen=True)
class BoxTy(MutableHiType):
    """The type of boxes, which does not depend on what they hold."""

    def str_short(self, short_dtypes: bool = False, **options: Any) -> str:
        return "BoxTy"

    def to_tangent_aval(self) -> BoxTy:
        return self

    def lo_ty_qdd(self, state: BoxTypeState, /) -> list[AbstractValue]:
        return list(state.leaf_avals)

    def new_from_loval(self, state: BoxTypeState, /, *vals: Any) -> Box:
        return _holding(pytrees.tree_unflatten(state.treedef, vals))

    def read_loval(self, state: BoxTypeState, val: Box, /) -> list[Any]:
        return pytrees.tree_leaves(val._content)

    def update_from_loval(self, state: BoxTypeState, val: Box, /, *lo_vals: Any) -> None:
        val._content = _checked(pytrees.tree_unflatten(state.treedef, lo_vals))


class _BoxMeta(type):
    """Makes boxes by a primitive, so that a traced function knows those that it makes."""

    def __call__(cls, val: Any = None) -> Box:
        box = new_box()
        box.set(val)
        return box


class Box(metaclass=_BoxMeta):
    """A mutable object that holds a pytree of arrays.

    Compiled functions, loops and branches read and write boxes that they receive, close over or
    make.

    Args:
      val: what the box holds first, a pytree of arrays.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import lax
      >>> from olympus_ir.programs.jit import jit
      >>> box = Box(np.float32(1))
      >>> @jit
      ... def double():
      ...     box.set(lax.add(box.get(), box.get()))
      >>> double(); double()
      >>> box.get()
      Array(4., dtype=float32)
    """

    _content: Any

    @property
    def ty(self) -> BoxTy:
        """The type of the box."""
        return BoxTy()

    def cur_qdd(self) -> BoxTypeState:
        """Returns the types of the arrays that the box holds, and their structure."""
        leaves, treedef = pytrees.tree_flatten(self._content)
        return BoxTypeState(tuple([get_aval(leaf) for leaf in leaves]), treedef)

    type_state = cur_qdd

    def get(self) -> Any:
        """Returns what the box holds."""
        return box_get(self)

    def set(self, val: Any) -> None:
        """Replaces what the box holds.

        Args:
          val: a pytree of arrays, whose structure and types may differ from the present ones.

        Raises:
          TypeError: the value is differentiated: pass `stop_gradient` of it.
          NotImplementedError: the value is an example of `vmap`.
        """
        box_set(self, val)


def _holding(content: Any) -> Box:
    box = object.__new__(Box)
    box._content = content
    return box


def _not_differentiable() -> TypeError:
    return TypeError(
        f"can't differentiate Box.set operation, did you forget {naming.module}.lax.stop_gradient? "
        "Write `box.set(stop_gradient(x))`."
    )


def _checked(content: Any) -> Any:
    """Returns what a box is to hold.

    Raises:
      NotImplementedError: it depends on an example of `vmap`.
      TypeError: it depends on a value that is differentiated.
    """
    for leaf in pytrees.tree_leaves(content):
        if isinstance(leaf, BatchTracer):
            raise NotImplementedError(
                "Batching rule for 'box_set' not implemented: a box holds no examples of `vmap`. "
                "Return the values from the function, and set the box outside of it."
            )
        if isinstance(leaf, Tracer) and not isinstance(leaf, StagingTracer):
            raise _not_differentiable()
    return content


register_hitype(Box, lambda box: BoxTy())


class _NewBox(HiPrimitive):
    def abstract_eval(self, *avals: Any, treedef: Any) -> Any:
        return AvalQDD(BoxTy(), BoxTypeState(avals, treedef)), set()

    def to_lojax(self, *leaves: Any, treedef: Any) -> Box:
        return _holding(pytrees.tree_unflatten(treedef, leaves))


class _BoxSet(HiPrimitive):
    multiple_results = True

    def abstract_eval(self, *avals: Any, treedef: Any) -> Any:
        return [], set()

    def to_lojax(self, box: Box, *leaves: Any, treedef: Any) -> list[Any]:
        box._content = _checked(pytrees.tree_unflatten(treedef, leaves))
        return []

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        raise _not_differentiable()


class _BoxGet(HiPrimitive):
    multiple_results = True

    def abstract_eval(self, box: Any, *, avals: Sequence[AbstractValue]) -> Any:
        return [*avals], set()

    def to_lojax(self, box: Box, *, avals: Sequence[AbstractValue]) -> list[Any]:
        return pytrees.tree_leaves(box._content)


new_box_p = _NewBox("new_box")
box_set_p = _BoxSet("box_set")
box_get_p = _BoxGet("box_get")


def new_box() -> Box:
    """Returns a box that holds None."""
    leaves, treedef = pytrees.tree_flatten(None)
    return new_box_p.bind(*leaves, treedef=treedef)


def box_set(box: Box, val: Any) -> None:
    """Replaces what a box holds; see `Box.set`."""
    leaves, treedef = pytrees.tree_flatten(val)
    box_set_p.bind(box, *leaves, treedef=treedef)


def box_get(box: Box) -> Any:
    """Returns what a box holds."""
    state = cur_qdd(box)
    leaves = box_get_p.bind(box, avals=tuple(state.leaf_avals))
    return pytrees.tree_unflatten(state.treedef, leaves)
