# SPDX-License-Identifier: Apache-2.0
"""Grouped matrix products: each group of rows has its own matrix, as in a mixture of experts.

Consecutive rows of the left matrix form groups. The kernels visit pairs of a block of rows and a
group with rows in that block, so that a block on the border of two groups is visited twice (T. Gale
et al., "MegaBlocks: Efficient Sparse Training with Mixture-of-Experts", 2022).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as jnp
from olympus_autodiff import custom_vjp
from olympus_ir import ShapeDtypeStruct, lax
from olympus_ir.programs.jit import jit
from olympus_pallas import BlockSpec, cdiv, num_programs, pallas_call, program_id, when
from olympus_pallas.tpu import VMEM, CompilerParams, PrefetchScalarGridSpec

__all__ = ["differentiable_gmm", "gmm", "make_group_metadata", "tgmm"]

# The block sizes along the rows, the contracted dimension and the columns; or a function from these
# three dimensions to the block sizes.
Tiling = tuple[int, int, int] | Callable[[int, int, int], tuple[int, int, int] | None] | None


class Visits(NamedTuple):
    """The pairs of a group and a block of rows that a kernel visits, in order.

    The arrays have room for the largest possible number of visits. Only their first elements are
    used. The number of visits is passed separately.

    Attributes:
      group_offsets: the first row of each group, followed by the total number of rows in all
        groups: i32[groups + 1].
      group_ids: the group of each visit, i32[capacity].
      m_tile_ids: the block of rows of each visit, i32[capacity].
    """

    group_offsets: Any
    group_ids: Any
    m_tile_ids: Any


def make_group_metadata(
    *,
    group_sizes: Any,
    m: int,
    tm: int,
    start_group: Any,
    num_nonzero_groups: int,
    visit_empty_groups: bool = True,
) -> tuple[Visits, Any]:
    """Lists the pairs of a group and a block of rows that have rows in common.

    Args:
      group_sizes: the number of rows of each group, i32[groups].
      m: the number of rows.
      tm: the number of rows in a block.
      start_group: the first group to visit.
      num_nonzero_groups: the number of groups to visit.
      visit_empty_groups: whether a group without rows has one visit.

    Returns:
      The `Visits`, whose arrays have room for the largest possible number, and the number of
      visits.

    Example:
      >>> visits, number = make_group_metadata(
      ...     group_sizes=np.int32([3, 5]), m=8, tm=4, start_group=0, num_nonzero_groups=2)
      >>> [np.asarray(each)[: int(number)].tolist() for each in visits[1:]]
      [[0, 1, 1], [0, 0, 1]]
    """
    groups = group_sizes.shape[0]
    sizes = jnp.asarray(group_sizes).astype(np.int32)
    ends = jnp.cumsum(sizes, dtype=np.int32)
    starts = ends - sizes
    first = starts // tm
    counts = jnp.where(sizes > 0, (ends + (tm - 1)) // tm - first, int(visit_empty_groups))
    number_of_group = jnp.arange(groups, dtype=np.int32)
    chosen = (number_of_group >= start_group) & (number_of_group < start_group + num_nonzero_groups)
    counts = jnp.where(chosen, counts, 0)
    until = jnp.cumsum(counts, dtype=np.int32)
    room = cdiv(m, tm) + groups - (0 if visit_empty_groups else 1)
    visit = jnp.arange(room, dtype=np.int32)
    group = jnp.minimum(jnp.searchsorted(until, visit, side="right"), groups - 1).astype(np.int32)
    tile = first[group] + visit - (until[group] - counts[group])
    tile = jnp.clip(tile, 0, cdiv(m, tm) - 1).astype(np.int32)
    offsets = jnp.concatenate([jnp.zeros(1, np.int32), ends])
    return Visits(offsets, group, tile), until[-1]


def _sizes_of_blocks(tiling: Tiling, m: int, k: int, n: int) -> tuple[int, int, int]:
    sizes = tiling(m, k, n) if callable(tiling) else tiling
    if sizes is None:
        raise ValueError(f"tiling= gives no block sizes for m={m}, k={k}, n={n}")
    return sizes


def _check(group_sizes: Any, existing_out: Any, shape: tuple[int, ...]) -> None:
    if existing_out is not None and existing_out.shape != shape:
        raise ValueError(f"existing_out needs the shape {shape}, got {existing_out.shape}")
    if group_sizes.ndim != 1 or group_sizes.dtype != np.int32:
        raise ValueError(
            f"group_sizes needs one dimension and the dtype int32, got {group_sizes.shape} "
            f"{group_sizes.dtype}"
        )


def _padded(x: Any, *multiples: int) -> Any:
    """Pads the last dimensions of an array with zeros, to multiples of the given numbers."""
    sizes = [-size % block for size, block in zip(x.shape[-len(multiples) :], multiples)]
    return jnp.pad(x, [(0, 0)] * (x.ndim - len(multiples)) + [(0, size) for size in sizes])


def _first_group(group_offset: Any) -> Any:
    if group_offset is None:
        return np.int32(0)
    return jnp.reshape(jnp.asarray(group_offset), ()).astype(np.int32)


def _rows_of_group(
    offsets_ref: Any, group: Any, first_row: Any, shape: tuple[int, int], axis: int = 0
) -> Any:
    """Returns the mask of the elements of a block whose index along an axis is in a group."""
    rows = lax.broadcasted_iota(np.int32, shape, axis) + first_row
    return (rows >= offsets_ref[group]) & (rows < offsets_ref[group + 1])


def _rows_of_groups(offsets: Any, start: Any, groups: int, shape: tuple[int, ...]) -> Any:
    """Returns the mask of the rows of an array that are in some consecutive groups."""
    rows = lax.broadcasted_iota(np.int32, shape, 0)
    last = jnp.minimum(start + groups, offsets.shape[0] - 1)
    return (rows >= offsets[start]) & (rows < offsets[last])


def _multiply(x: Any, y: Any, contracted: tuple[int, int]) -> Any:
    dimensions = (((contracted[0],), (contracted[1],)), ((), ()))
    return lax.dot_general(x, y, dimensions, preferred_element_type=np.float32)


def _gmm(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    preferred_element_type: Any = np.float32,
    tiling: Tiling = (128, 128, 128),
    group_offset: Any = None,
    existing_out: Any = None,
    transpose_rhs: bool = False,
    interpret: bool = False,
) -> Any:
    """Multiplies each group of rows by the matrix of the group.

    Args:
      lhs: the rows, [m, k].
      rhs: the matrices, [groups, k, n].
      group_sizes: the number of rows of each group, i32[all groups].
      preferred_element_type: the dtype of the product.
      tiling: the sizes of a block along m, k and n, or a function from m, k and n to these sizes.
      group_offset: the group of the first matrix, i32[1].
      existing_out: [m, n], the result for rows of groups without a matrix; by default zeros.
      transpose_rhs: whether the matrices are [groups, n, k].
      interpret: whether to interpret the kernel instead of compiling it.

    Returns:
      An array of shape [m, n].

    Raises:
      ValueError: the shapes are not consistent, or the sizes are not int32.

    Example:
      >>> lhs, rhs = np.ones((8, 4), np.float32), np.ones((2, 4, 4), np.float32)
      >>> gmm(lhs, rhs, np.int32([3, 5]), tiling=(8, 4, 4), interpret=True)[0, 0]
      Array(4., dtype=float32)
    """
    m, k = lhs.shape
    groups, inner, n = (rhs.shape[0], *(rhs.shape[:0:-1] if transpose_rhs else rhs.shape[1:]))
    _check(group_sizes, existing_out, (m, n))
    if inner != k:
        raise ValueError(f"lhs: {lhs.shape} and rhs: {rhs.shape} differ in the summed dimension")
    tm, tk, tn = _sizes_of_blocks(tiling, m, k, n)
    start = _first_group(group_offset)
    visits, number = make_group_metadata(
        group_sizes=group_sizes,
        m=m,
        tm=tm,
        start_group=start,
        num_nonzero_groups=groups,
        visit_empty_groups=False,
    )
    scalars = (*visits, jnp.stack([start, number]))
    lhs = _padded(lhs, tm, tk)
    rhs = _padded(rhs, *((tn, tk) if transpose_rhs else (tk, tn)))
    padded_n = cdiv(n, tn) * tn

    def kernel(offsets_ref, groups_ref, tiles_ref, span_ref, x_ref, y_ref, o_ref, sum_ref):
        visit, step = program_id(1), program_id(2)

        @when(step == 0)
        def _() -> None:
            sum_ref[...] = jnp.zeros_like(sum_ref)

        sum_ref[...] += _multiply(x_ref[...], y_ref[...], (1, 1 if transpose_rhs else 0))

        @when((step == num_programs(2) - 1) & (visit < span_ref[1]))
        def _() -> None:
            first = tiles_ref[visit] * tm
            is_of_group = _rows_of_group(offsets_ref, groups_ref[visit], first, (tm, tn))
            o_ref[...] = jnp.where(is_of_group, sum_ref[...].astype(o_ref.dtype), o_ref[...])

    def matrix(j, visit, step, offsets_ref, groups_ref, tiles_ref, span_ref):
        group = jnp.clip(groups_ref[visit] - span_ref[0], 0, groups - 1)
        return (group, j, step) if transpose_rhs else (group, step, j)

    product = pallas_call(
        kernel,
        ShapeDtypeStruct((lhs.shape[0], padded_n), preferred_element_type),
        grid_spec=PrefetchScalarGridSpec(
            num_scalar_prefetch=4,
            grid=(padded_n // tn, visits.group_ids.shape[0], lhs.shape[1] // tk),
            in_specs=[
                BlockSpec((tm, tk), lambda j, visit, step, _, __, tiles, ___: (tiles[visit], step)),
                BlockSpec((None, tn, tk) if transpose_rhs else (None, tk, tn), matrix),
            ],
            out_specs=BlockSpec(
                (tm, tn), lambda j, visit, step, _, __, tiles, ___: (tiles[visit], j)
            ),
            scratch_shapes=[VMEM((tm, tn), np.float32)],
        ),
        compiler_params=CompilerParams(dimension_semantics=("parallel", "arbitrary", "arbitrary")),
        interpret=interpret,
    )(*scalars, lhs, rhs)[:m, :n]
    computed = _rows_of_groups(visits.group_offsets, start, groups, (m, n))
    rest = jnp.zeros_like(product) if existing_out is None else existing_out.astype(product.dtype)
    return jnp.where(computed, product, rest)


gmm = jit(_gmm, static_argnames=("preferred_element_type", "tiling", "transpose_rhs", "interpret"))


def _tgmm(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    preferred_element_type: Any = np.float32,
    tiling: Tiling = (128, 128, 128),
    group_offset: Any = None,
    num_actual_groups: int | None = None,
    existing_out: Any = None,
    interpret: bool = False,
) -> Any:
    """Multiplies each group's columns of the left matrix by its rows of the right matrix.

    Args:
      lhs: the matrix whose columns form groups, [k, m].
      rhs: the matrix whose rows form groups, [m, n].
      group_sizes: the number of columns and rows of each group, i32[all groups].
      preferred_element_type: the dtype of the products.
      tiling: the sizes of a block along m, k and n, or a function from m, k and n to these sizes.
      group_offset: the first group, i32[1].
      num_actual_groups: the number of groups; by default the length of ``group_sizes``.
      existing_out: an array that is added to the products, [groups, k, n].
      interpret: whether to interpret the kernel instead of compiling it.

    Returns:
      An array of shape [groups, k, n]; zeros for groups without rows.

    Raises:
      ValueError: the shapes are not consistent, or the sizes are not int32.

    Example:
      >>> lhs, rhs = np.ones((4, 8), np.float32), np.ones((8, 4), np.float32)
      >>> tgmm(lhs, rhs, np.int32([3, 5]), tiling=(8, 4, 4), interpret=True)[:, 0, 0]
      Array([3., 5.], dtype=float32)
    """
    k, m = lhs.shape
    n = rhs.shape[1]
    groups = group_sizes.shape[0] if num_actual_groups is None else num_actual_groups
    _check(group_sizes, existing_out, (groups, k, n))
    if rhs.shape[0] != m:
        raise ValueError(f"lhs: {lhs.shape} and rhs: {rhs.shape} differ in the summed dimension")
    tm, tk, tn = _sizes_of_blocks(tiling, m, k, n)
    start = _first_group(group_offset)
    visits, number = make_group_metadata(
        group_sizes=group_sizes, m=m, tm=tm, start_group=start, num_nonzero_groups=groups
    )
    scalars = (*visits, jnp.stack([start, number]))
    lhs, rhs = _padded(lhs, tk, tm), _padded(rhs, tm, tn)

    def kernel(offsets_ref, groups_ref, tiles_ref, span_ref, x_ref, y_ref, o_ref, sum_ref):
        visit = program_id(2)
        group, number = groups_ref[visit], span_ref[1]

        @when((visit == 0) | (group != groups_ref[jnp.maximum(visit - 1, 0)]))
        def _() -> None:
            sum_ref[...] = jnp.zeros_like(sum_ref)

        @when(visit < number)
        def _() -> None:
            # Both factors are masked, since a zero times an infinity of another group is NaN.
            span = (offsets_ref, group, tiles_ref[visit] * tm)
            x = jnp.where(_rows_of_group(*span, (tk, tm), 1), x_ref[...], jnp.zeros((), lhs.dtype))
            y = jnp.where(_rows_of_group(*span, (tm, tn)), y_ref[...], jnp.zeros((), rhs.dtype))
            sum_ref[...] += _multiply(x, y, (1, 0))
            o_ref[...] = sum_ref[...].astype(o_ref.dtype)

    def result(i, j, visit, offsets_ref, groups_ref, tiles_ref, span_ref):
        return jnp.clip(groups_ref[visit] - span_ref[0], 0, groups - 1), i, j

    products = pallas_call(
        kernel,
        ShapeDtypeStruct((groups, lhs.shape[0], rhs.shape[1]), preferred_element_type),
        grid_spec=PrefetchScalarGridSpec(
            num_scalar_prefetch=4,
            grid=(lhs.shape[0] // tk, rhs.shape[1] // tn, visits.group_ids.shape[0]),
            in_specs=[
                BlockSpec((tk, tm), lambda i, j, visit, _, __, tiles, ___: (i, tiles[visit])),
                BlockSpec((tm, tn), lambda i, j, visit, _, __, tiles, ___: (tiles[visit], j)),
            ],
            out_specs=BlockSpec((None, tk, tn), result),
            scratch_shapes=[VMEM((tk, tn), np.float32)],
        ),
        compiler_params=CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
        interpret=interpret,
    )(*scalars, lhs, rhs)[:, :k, :n]
    return products if existing_out is None else products + existing_out


tgmm = jit(
    _tgmm,
    static_argnames=("preferred_element_type", "tiling", "num_actual_groups", "interpret"),
)

differentiable_gmm = custom_vjp(_gmm, nondiff_argnums=(3, 4, 7, 8))


def _gmm_fwd(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    preferred_element_type: Any = np.float32,
    tiling: Tiling = (128, 128, 128),
    group_offset: Any = None,
    existing_out: Any = None,
    transpose_rhs: bool = False,
    interpret: bool = False,
) -> tuple[Any, Any]:
    product = gmm(
        *(lhs, rhs, group_sizes, preferred_element_type, tiling, group_offset, existing_out),
        transpose_rhs=transpose_rhs,
        interpret=interpret,
    )
    return product, (lhs, rhs, group_sizes, group_offset, existing_out)


def _gmm_bwd(
    preferred_element_type: Any,
    tiling: Tiling,
    transpose_rhs: bool,
    interpret: bool,
    residuals: Any,
    cotangent: Any,
) -> tuple[Any, ...]:
    lhs, rhs, group_sizes, group_offset, existing_out = residuals
    of_lhs = gmm(
        *(cotangent, rhs, group_sizes, lhs.dtype, tiling, group_offset),
        transpose_rhs=not transpose_rhs,
        interpret=interpret,
    )
    of_rhs = tgmm(
        *(lhs.T, cotangent, group_sizes, rhs.dtype, tiling, group_offset, rhs.shape[0]),
        interpret=interpret,
    )
    if transpose_rhs:
        of_rhs = jnp.swapaxes(of_rhs, 1, 2)
    of_existing = None
    if existing_out is not None:  # rows of groups without a matrix come from `existing_out`
        offsets = jnp.concatenate([jnp.zeros(1, np.int32), jnp.cumsum(group_sizes)])
        shape = (_first_group(group_offset), rhs.shape[0], cotangent.shape)
        computed = _rows_of_groups(offsets, *shape)
        of_existing = jnp.where(computed, jnp.zeros_like(cotangent), cotangent)
        of_existing = of_existing.astype(existing_out.dtype)
    return of_lhs, of_rhs, None, None, of_existing


differentiable_gmm.defvjp(_gmm_fwd, _gmm_bwd)
