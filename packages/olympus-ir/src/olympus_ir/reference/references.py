# SPDX-License-Identifier: Apache-2.0
"""Reference rules of mutable references. A write replaces the array that a reference holds."""

from __future__ import annotations

from typing import Any

from .. import lax
from ..references import primitives as references
from ..references.transforms import accumulated, read_view, written
from ..references.values import Ref
from ..types.avals import get_aval
from ..types.references import AbstractRef
from .tables import reference_rules, takes_arrays


@reference_rules.define(references.get_p)
@takes_arrays
def get(ref: Ref, *leaves: Any, tree: Any) -> Any:
    return read_view(ref._current(), references.transforms_of(leaves, tree))


@reference_rules.define(references.swap_p)
@takes_arrays
def swap(ref: Ref, value: Any, *leaves: Any, tree: Any) -> Any:
    transforms = references.transforms_of(leaves, tree)
    array = ref._current()
    references.swap_p.infer(tuple(map(get_aval, (ref, value, *leaves))), {"tree": tree})
    previous = read_view(array, transforms)
    ref._replace(_like(array, written(array, transforms, value)))
    return previous


@reference_rules.define(references.addupdate_p)
@takes_arrays
def addupdate(ref: Ref, value: Any, *leaves: Any, tree: Any) -> list[Any]:
    transforms = references.transforms_of(leaves, tree)
    array = ref._current()
    references.addupdate_p.infer(tuple(map(get_aval, (ref, value, *leaves))), {"tree": tree})
    ref._replace(_like(array, accumulated(array, transforms, value)))
    return []


def _like(array: Any, changed: Any) -> Any:
    """Returns the new contents, with the weak type of the old contents."""
    aval = get_aval(array)
    return lax.convert_dtype(changed, aval.dtype, aval.weak_type)  # type: ignore[attr-defined]


@reference_rules.define(references.new_ref_p)
@takes_arrays
def new_ref(array: Any, *, memory_space: Any, kind: Any) -> Ref:
    references.check_no_memory_space(memory_space)
    params = {"memory_space": memory_space, "kind": kind}
    (aval,), _ = references.new_ref_p.infer((get_aval(array),), params)
    return Ref(aval, array)  # type: ignore[arg-type]


@reference_rules.define(references.empty_ref_p)
@takes_arrays
def empty_ref(*, ty: Any, memory_space: Any) -> Ref:
    return Ref(AbstractRef(ty, memory_space), lax.empty(ty.shape, ty.dtype))


@reference_rules.define(references.freeze_p)
@takes_arrays
def freeze(ref: Ref) -> Any:
    return ref._current()


@reference_rules.define(references.free_ref_p)
@takes_arrays
def free_ref(ref: Ref) -> list[Any]:
    return []
