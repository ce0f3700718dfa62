# SPDX-License-Identifier: Apache-2.0
"""Operations between the subcores of a sparse core: barriers, and atomic addition."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive
from olympus_ir.references.primitives import ref_and_transforms
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.effects import read_effect, write_effect

from ..memory.annotations import RefLike
from ..operations.effects import thread_effect

__all__ = ["fetch_and_add", "fetch_and_add_p", "subcore_barrier", "subcore_barrier_p"]

subcore_barrier_p = Primitive.declare("subcore_barrier", multiple_results=True)
fetch_and_add_p = Primitive("fetch_and_add")
fetch_and_add_p.takes_refs = True
fetch_and_add_p.spreads_varying = False


@subcore_barrier_p.def_effectful_abstract_eval
def _barrier_types() -> Any:
    return (), frozenset({thread_effect})


@fetch_and_add_p.def_effectful_abstract_eval
def _fetch_types(ref: Any, value: Any, subcore: Any) -> Any:
    if ref.inner_aval.shape not in ((), (1,)):
        raise ValueError(f"fetch_and_add expects a reference to a scalar, got {ref}")
    return (
        ShapedArray(ref.inner_aval.shape, ref.inner_aval.dtype),
        frozenset({thread_effect, read_effect, write_effect}),
    )


def subcore_barrier() -> None:
    """Waits until all subcores of the same core have arrived."""
    subcore_barrier_p.bind()


def fetch_and_add(x_ref: RefLike, value: ArrayLike, *, subcore_id: ArrayLike) -> Array:
    """Adds to a number in another subcore's memory, atomically.

    Args:
      x_ref: a reference to one number in scalar memory. It must not be a view.
      value: the increment.
      subcore_id: the index of the other subcore, of the same core.

    Returns:
      The old number.

    Raises:
      ValueError: ``x_ref`` is a view of a larger reference.
    """
    ref, transforms = ref_and_transforms("fetch_and_add", x_ref)
    if transforms:
        raise ValueError("fetch_and_add works on whole references, not on views")
    value = lax.convert_element_type(value, ref.dtype)
    subcore = lax.convert_element_type(subcore_id, np.int32)
    return fetch_and_add_p.bind(ref, value, subcore)
