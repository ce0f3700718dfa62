# SPDX-License-Identifier: Apache-2.0
"""Batching of convolutions: the examples join the batch, the features or the groups."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax
from olympus_ir.lax.convolution.convolutions import conv_general_dilated_p
from olympus_ir.types.avals import ShapedArray, get_aval

from ..dimensions import unbatched_aval
from ..tables import batching_rules, ndim_of, shape_of


@batching_rules.define(conv_general_dilated_p)
def _conv_general_dilated(
    axis_size: int,
    args: Any,
    batch_dims: Any,
    *,
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> Any:
    lhs, rhs = args
    lhs_dim: int | None
    rhs_dim: int | None
    lhs_dim, rhs_dim = batch_dims
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    if axis_size == 0:  # there is no group to compute
        params.update(
            dimension_numbers=dimension_numbers,
            feature_group_count=feature_group_count,
            batch_group_count=batch_group_count,
        )
        return _no_examples(args, batch_dims, params), 0

    def convolve(lhs: Any, rhs: Any, feature_groups: int, batch_groups: int) -> Any:
        return conv_general_dilated_p.bind(
            lhs,
            rhs,
            dimension_numbers=dimension_numbers,
            feature_group_count=feature_groups,
            batch_group_count=batch_groups,
            **params,
        )

    if lhs_dim is not None and rhs_dim is not None:
        # Each example has its own kernel, so the examples become groups.
        groups_of_batch = batch_group_count > 1
        lhs = merged(lhs, lhs_dim, lhs_spec[0 if groups_of_batch else 1])
        rhs = merged(rhs, rhs_dim, rhs_spec[0])
        if groups_of_batch:
            batch_group_count *= axis_size
        else:
            feature_group_count *= axis_size
        out = convolve(lhs, rhs, feature_group_count, batch_group_count)
        return split(out, out_spec[1], axis_size), out_spec[1]

    groups = max(feature_group_count, batch_group_count)
    if lhs_dim is not None:
        position = lhs_spec[0]
        if batch_group_count > 1:
            lhs = merged_within_groups(lhs, lhs_dim, position, groups)
        else:
            lhs = merged(lhs, lhs_dim, position)
        out = convolve(lhs, rhs, feature_group_count, batch_group_count)
        return split(out, out_spec[0], axis_size), out_spec[0]

    assert rhs_dim is not None, "one of the operands is batched"
    position = rhs_spec[0]
    if groups == 1:
        out = convolve(lhs, merged(rhs, rhs_dim, position), feature_group_count, batch_group_count)
        return split(out, out_spec[1], axis_size), out_spec[1]
    rhs = merged_within_groups(rhs, rhs_dim, position, groups)
    out = convolve(lhs, rhs, feature_group_count, batch_group_count)
    # The result's features are [group, example, feature of the group].
    position = out_spec[1]
    out = split(split(out, position, groups), position + 1, axis_size)
    return merged(out, position, position + 1), position


def _no_examples(args: Any, batch_dims: Any, params: dict[str, Any]) -> Any:
    """Returns a batch of no examples, with the shape that one result would have."""
    examples = tuple(
        unbatched_aval(get_aval(arg), dim) for arg, dim in zip(args, batch_dims, strict=True)
    )
    (out_aval,), _ = conv_general_dilated_p.infer(examples, params)
    assert isinstance(out_aval, ShapedArray)
    return lax.full((0, *out_aval.shape), 0, out_aval.dtype)


def merged(x: Any, source: int, target: int) -> Any:
    """Returns an array with one dimension moved in front of another and merged with it.

    Args:
      x: the array.
      source: the dimension that is moved.
      target: the dimension that it joins, counted after ``source`` is removed.
    """
    shape = shape_of(x)
    order = [dimension for dimension in range(ndim_of(x)) if dimension != source]
    sizes = [shape[dimension] for dimension in order]
    sizes[target] *= shape[source]
    order.insert(target, source)
    return lax.reshape(x, sizes, order)


def split(x: Any, dimension: int, count: int) -> Any:
    """Returns an array with one dimension split in two, the first one of size ``count``."""
    shape = shape_of(x)
    rest = shape[dimension] // count if count else 0
    return lax.reshape(x, (*shape[:dimension], count, rest, *shape[dimension + 1 :]))


def merged_within_groups(x: Any, source: int, target: int, groups: int) -> Any:
    """Merges dimension ``source`` into dimension ``target``, within each of the target's groups."""
    position = target + (target >= source)
    x = split(x, position, groups)
    source += source > position
    # The target is ordered [group, element]: move the source between the two, and merge all three.
    x = merged(x, source, target + 1)
    first, second = shape_of(x)[target : target + 2]
    return lax.reshape(x, (*shape_of(x)[:target], first * second, *shape_of(x)[target + 2 :]))
