# SPDX-License-Identifier: Apache-2.0
"""Indices of the rows that a copy gathers or scatters."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.references.indexing import NDIndexer
from olympus_ir.references.primitives import ref_and_transforms
from olympus_ir.references.values import TransformedRef
from olympus_ir.trees.pytree_registry import register_pytree_node_class
from olympus_ir.types.avals import ShapedArray, get_aval

__all__ = ["Indices"]


@register_pytree_node_class
@dataclasses.dataclass(frozen=True)
class Indices:
    """Indices of rows, ``ref.at[Indices(values)]``, for copies that gather or scatter.

    Args:
      values: the indices of the rows, a one-dimensional array of integers, or a reference to such
        an array.
      ignored_value: a copy leaves out the rows that have this index. A gather leaves the
        corresponding rows of its target unchanged. A scatter does not write the corresponding rows
        of its source.

    Example:
      >>> import olympus_pallas as pl
      >>> from olympus_ir import ShapeDtypeStruct
      >>> from olympus_pallas import tpu, tpu_sc
      >>> mesh = tpu_sc.VectorSubcoreMesh(
      ...     core_axis_name="c", subcore_axis_name="s", num_cores=1, num_subcores=1)
      >>> def gather(table_ref, rows_ref, o_ref):
      ...     tpu.sync_copy(table_ref.at[Indices(rows_ref)], o_ref)
      >>> call = pl.kernel(gather, ShapeDtypeStruct((2,), "int32"), mesh=mesh, interpret=True)
      >>> call(np.array([5, 6, 7]), np.array([2, 0]))
      Array([7, 5], dtype=int32)
    """

    values: Any
    ignored_value: int | None = None

    def tree_flatten(self) -> tuple[Sequence[Any], tuple]:
        return (self.values,), (self.ignored_value,)

    @classmethod
    def tree_unflatten(cls, settings: tuple, leaves: Sequence[Any]) -> Indices:
        return cls(leaves[0], *settings)

    def pretty_print(self, print_value: Callable[[Any], str] = str) -> str:
        """Returns the text of the indices; ``print_value`` returns the text of the values."""
        shown = print_value(self.values)
        return shown if self.ignored_value is None else f"{shown} except {self.ignored_value}"

    def view_of(self, ref: Any) -> TransformedRef:
        """Returns the view that consists of these rows of a reference.

        Raises:
          TypeError: the indices are not integers.
          ValueError: the indices have more than one dimension.
        """
        base, transforms = ref_and_transforms("Indices", ref)
        values = self.values[...] if get_aval(self.values).is_ref else self.values
        aval: Any = get_aval(values)
        if aval.dtype.kind not in "iu":
            raise TypeError(f"values of Indices must be integers, got {aval.str_short()}")
        if len(aval.shape) != 1:
            raise ValueError(f"values of Indices must have one dimension, got {aval.str_short()}")
        if self.ignored_value is None:
            index = NDIndexer.from_indices_shape((values,), ref.shape, validate=True)
            return TransformedRef(base, (*transforms, index))
        is_kept = lax.ne(values, np.asarray(self.ignored_value, aval.dtype))
        values = lax.select_n(is_kept, lax.full_like(values, 0), values)
        index = NDIndexer.from_indices_shape((values,), ref.shape, validate=True)
        return TransformedRef(base, (*transforms, index, KeptRows(is_kept)))


@register_pytree_node_class
class KeptRows:
    """A view in which a copy leaves out some rows.

    Args:
      kept: boolean array, false for the rows that are left out.
    """

    def __init__(self, kept: Any) -> None:
        self.kept = kept

    def tree_flatten(self) -> tuple[Sequence[Any], tuple]:
        return (self.kept,), ()

    @classmethod
    def tree_unflatten(cls, settings: tuple, leaves: Sequence[Any]) -> KeptRows:
        return cls(leaves[0])

    def transform_type(self, aval: ShapedArray) -> ShapedArray:
        return aval

    def pretty(self, shown: Callable[[Any], str]) -> str:
        return f"{{rows {shown(self.kept)}}}"

    def locate(self, core: Any, site: Any) -> Any:
        return site.keeping(self.kept)
