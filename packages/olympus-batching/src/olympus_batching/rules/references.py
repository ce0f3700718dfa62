# SPDX-License-Identifier: Apache-2.0
"""Batching of references: one reference holds the arrays of all examples.

A reference made within a mapped function is batched, whatever its initial value. The examples share
a reference that comes from outside and is not mapped. They can read the shared reference, but
cannot write values to it that differ between examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive
from olympus_ir.references import primitives as references
from olympus_ir.references.discharge import apply_discharged
from olympus_ir.references.indexing import NDIndexer, Slice
from olympus_ir.references.transforms import (
    BitcastTransform,
    ReshapeTransform,
    TransposeTransform,
    flatten_transforms,
)
from olympus_ir.references.windows import layout
from olympus_ir.types.avals import ShapedArray, get_aval

from ..dimensions import BatchAxis, BatchDim
from ..tables import batching_rules, materialize, to_front
from ..trace import call_batched


@batching_rules.define(references.new_ref_p)
def _new_ref(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
    # Control flow needs batch dimension 0, and dimensions of references cannot be moved.
    array = materialize(args[0], axis_size, batch_dims[0])
    return references.new_ref_p.bind(array, **params), 0


@batching_rules.define(references.empty_ref_p)
def _empty_ref(axis_size: int, args: Any, batch_dims: Any, *, ty: Any, **params: Any) -> Any:
    ty = ty.update(shape=(axis_size, *ty.shape))
    return references.empty_ref_p.bind(ty=ty, **params), 0


@batching_rules.define(references.freeze_p)
def _freeze(axis_size: int, args: Any, batch_dims: Any) -> Any:
    return references.freeze_p.bind(*args), batch_dims[0]


@batching_rules.define(references.free_ref_p)
def _free_ref(axis_size: int, args: Any, batch_dims: Any) -> Any:
    return references.free_ref_p.bind(*args), []


@batching_rules.define(references.get_p)
def _get(axis_size: int, args: Any, batch_dims: Any, *, tree: Any) -> Any:
    leaves, tree, dim = _batched_transforms(axis_size, args, batch_dims, 1, tree)
    return references.get_p.bind(args[0], *leaves, tree=tree), dim


@batching_rules.define(references.swap_p)
def _swap(axis_size: int, args: Any, batch_dims: Any, *, tree: Any) -> Any:
    _check_batched("a set/swap", args, batch_dims)
    leaves, tree, dim = _batched_transforms(axis_size, args, batch_dims, 2, tree)
    value = materialize(args[1], axis_size, batch_dims[1], dim)
    return references.swap_p.bind(args[0], value, *leaves, tree=tree), dim


@batching_rules.define(references.addupdate_p)
def _addupdate(axis_size: int, args: Any, batch_dims: Any, *, tree: Any) -> Any:
    _check_batched("an addupdate", args, batch_dims)
    leaves, tree, dim = _batched_transforms(axis_size, args, batch_dims, 2, tree)
    value = materialize(args[1], axis_size, batch_dims[1], dim)
    references.addupdate_p.bind(args[0], value, *leaves, tree=tree)
    return [], []


def _check_batched(operation: str, args: Sequence[Any], dims: Sequence[BatchDim]) -> None:
    if dims[0] is None:
        role = "value" if dims[1] is not None else "index"
        raise ValueError(
            f"performing {operation} operation with vmapped {role} on an unbatched array reference "
            f"of type {get_aval(args[0]).str_short()}. Move the array reference to be an argument "
            "to the vmapped function."
        )


# ---- control flow that differs between examples ----


def apply_to_arrays(
    axis: BatchAxis,
    primitive: Primitive,
    args: Sequence[Any],
    dims: Sequence[BatchDim],
    params: dict[str, Any],
) -> Any:
    """Batches control flow: reads references before the operation, and writes them after it."""

    def one_example(*operands: Any) -> list[Any]:
        return apply_discharged(
            primitive,
            operands,
            params,
            is_discharged=lambda operand: getattr(type(operand), "is_ref", False),
            read=lambda ref: references.get(ref),
            write=lambda ref, array: references.set(ref, (), array),
        )

    return call_batched(one_example, axis, args, dims)


# ---- views ----


def _batched_transforms(
    axis_size: int, args: Sequence[Any], dims: Sequence[BatchDim], first: int, tree: Any
) -> tuple[list[Any], Any, int]:
    """Returns the transforms of all examples, and the batch dimension of the view that they select.

    The transforms are returned as leaves and structure.

    Args:
      axis_size: the number of examples.
      args: the operands, a reference first.
      dims: the operands' batch dimensions, at least one of which is not None.
      first: the position of the first leaf of the transforms.
      tree: the structure of the transforms.
    """
    leaves = [to_front(leaf, dim) for leaf, dim in zip(args[first:], dims[first:], strict=True)]
    transforms = references.transforms_of(leaves, tree)
    batched = references.transforms_of([dim is not None for dim in dims[first:]], tree)
    dim = dims[0]
    aval = get_aval(args[0]).inner_aval  # type: ignore[attr-defined]
    if dim is not None:  # the transforms apply to one example, without the batch dimension
        aval = ShapedArray((*aval.shape[:dim], *aval.shape[dim + 1 :]), aval.dtype)
    chain: list[Any] = []
    for transform, flags in zip(transforms, batched, strict=True):
        new, dim = _batched_transform(axis_size, transform, flags, dim, aval)
        chain += new
        aval = (
            transform.transform_type(aval) if not _any_batched(flags) else _type_of(transform, aval)
        )
    leaves, tree = flatten_transforms(chain)
    return leaves, tree, dim  # type: ignore[return-value]  # at least one operand is batched


def _type_of(indexer: NDIndexer, aval: ShapedArray) -> ShapedArray:
    return aval.update(shape=indexer.get_indexer_shape())


def _flags(flags: Any) -> list[bool]:
    """Returns whether each index of an indexer differs between the examples."""
    return [
        index.start is True if isinstance(index, Slice) else index is True
        for index in flags.indices
    ]


def _any_batched(flags: Any) -> bool:
    return isinstance(flags, NDIndexer) and any(_flags(flags))


def _batched_transform(
    axis_size: int, transform: Any, flags: Any, dim: BatchDim, aval: ShapedArray
) -> tuple[list[Any], BatchDim]:
    """Returns the transforms for all examples, given the transform for one example.

    Args:
      axis_size: the number of examples.
      transform: the transform for one example. Operands that differ between examples have a batch
        dimension in front.
      flags: the same transform, with a flag for each operand that says whether the operand differs.
      dim: the batch dimension of the value that is transformed.
      aval: the unbatched type of the value that is transformed.
    """
    if isinstance(transform, NDIndexer):
        if _any_batched(flags):
            return _indexed_each(axis_size, transform, _flags(flags), dim)
        return ([transform], None) if dim is None else _indexed_alike(axis_size, transform, dim)
    if dim is None:
        return [transform], None
    before = _moved_to_front(dim, len(aval.shape) + 1)
    shape = transform.transform_type(aval).shape
    if isinstance(transform, ReshapeTransform):
        return [*before, ReshapeTransform((axis_size, *shape))], 0
    if isinstance(transform, TransposeTransform):
        permutation = (0, *(place + 1 for place in transform.permutation))
        return [*before, TransposeTransform(permutation)], 0
    if isinstance(transform, BitcastTransform):
        if len(aval.shape) != 1 or shape == aval.shape:
            return [*before, transform], 0
        # The cast changes the only dimension of a vector, else the second-to-last dimension. The
        # vector of each example therefore becomes a column, so that the cast changes its rows.
        column = ReshapeTransform((axis_size, *aval.shape, 1))
        return [*before, column, transform, ReshapeTransform((axis_size, *shape))], 0
    batched = getattr(transform, "batched", None)
    if batched is None:
        raise NotImplementedError(
            f"vmap of a reference that is viewed through {type(transform).__name__}: the transform "
            "has no method `batched(axis_size, aval)`."
        )
    return [*before, *batched(axis_size, aval)], 0


def _moved_to_front(dim: int, ndim: int) -> list[TransposeTransform]:
    if dim == 0:
        return []
    return [TransposeTransform((dim, *(position for position in range(ndim) if position != dim)))]


def _indexed_alike(axis_size: int, indexer: NDIndexer, dim: int) -> tuple[list[Any], int]:
    """Batches an index that is the same for all examples.

    Returns:
      The transforms for all examples, and the batch dimension of the selected part.
    """
    everything = Slice(0, axis_size)
    batched = NDIndexer(
        (*indexer.indices[:dim], everything, *indexer.indices[dim:]),
        (*indexer.shape[:dim], axis_size, *indexer.shape[dim:]),
        indexer.int_indexer_shape,
    )
    labels = [label for label, _ in layout(batched)]
    order_of_labels = [_shifted_label(label, dim) for label, _ in layout(indexer)]
    out_dim = labels.index(dim)
    if [label for label in labels if label != dim] == order_of_labels:
        return [batched], out_dim
    # If a slice separates index arrays, the arrays' dimensions come first.
    order = tuple([labels.index(label) for label in (dim, *order_of_labels)])
    return [batched, TransposeTransform(order)], 0


def _shifted_label(label: Any, dim: BatchDim) -> Any:
    if isinstance(label, tuple) or dim is None:
        return label
    return label + (label >= dim)


def _indexed_each(
    axis_size: int, indexer: NDIndexer, batched: Sequence[bool], dim: BatchDim
) -> tuple[list[Any], int]:
    """Batches an index that differs between examples. Index arrays get a batch dimension.

    Slices with different starts become index arrays. Each such slice adds a dimension to the index
    arrays.
    """
    int_shape = indexer.int_indexer_shape
    # Maps the position of each slice that becomes an index array to the dimension that it adds to
    # the index arrays.
    steps: dict[int, int] = {}
    shape = [axis_size, *int_shape]
    for position, (index, differs) in enumerate(zip(indexer.indices, batched, strict=True)):
        if isinstance(index, Slice) and differs:
            steps[position] = len(shape)
            shape.append(index.size)
    common = tuple(shape)

    def spread(index: Any, dims: Sequence[int]) -> Any:
        return lax.broadcast_in_dim(_as_array(index), common, tuple(dims))

    indices: list[Any] = []
    own_dims = list(range(1, 1 + len(int_shape)))
    for position, (index, differs) in enumerate(zip(indexer.indices, batched, strict=True)):
        if position in steps:
            start = spread(
                lax.convert_element_type(_from_start(index, indexer.shape[position]), np.int32), [0]
            )
            offsets = lax.mul(lax.iota(np.int32, index.size), np.int32(index.stride))
            indices.append(lax.add(start, spread(offsets, [steps[position]])))
        elif isinstance(index, Slice):
            indices.append(index)
        else:
            scalar = not int_shape or not np.ndim(index) - differs
            indices.append(spread(index, ([0] if differs else []) + ([] if scalar else own_dims)))
    full_shape = indexer.shape
    if dim is not None:
        indices.insert(dim, spread(lax.iota(np.int32, axis_size), [0]))
        full_shape = (*full_shape[:dim], axis_size, *full_shape[dim:])
    new = NDIndexer(tuple(indices), full_shape, common)
    labels = [label for label, _ in layout(new)]

    def new_label(label: Any) -> Any:
        if isinstance(label, tuple):
            return ("array", label[1] + 1)
        return ("array", steps[label]) if label in steps else _shifted_label(label, dim)

    expected_labels = [("array", 0), *(new_label(label) for label, _ in layout(indexer))]
    order = tuple([labels.index(label) for label in expected_labels])
    if order == tuple(range(len(order))):
        return [new], 0
    return [new, TransposeTransform(order)], 0


def _from_start(index: Slice, size: int) -> Any:
    """Returns the starts of a slice, clamped as in a dynamic slice."""
    start = index.start
    start = lax.select_n(lax.lt(start, _like(0, start)), start, lax.add(start, _like(size, start)))
    last = size - (index.size - 1) * index.stride - 1
    return lax.clamp(_like(0, start), start, _like(last, start))


def _like(value: int, array: Any) -> Any:
    return np.asarray(value, array.dtype)


def _as_array(index: Any) -> Any:
    return np.int32(index) if isinstance(index, int) else index
