# SPDX-License-Identifier: Apache-2.0
"""Ragged paged attention: causal attention over keys and values that are stored in pages.

Sequences may have different numbers of queries. The queries of all sequences are concatenated in
one array, so that long prompts and single new tokens share a call. A kernel visits each pair of a
block of queries and a sequence that has queries in this block.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir import ShapeDtypeStruct, lax
from olympus_ir.programs.jit import jit
from olympus_pallas import BlockSpec, cdiv, num_programs, pallas_call, program_id, when
from olympus_pallas.tpu import CompilerParams, PrefetchScalarGridSpec

from ..grouped_matmul import Visits, make_group_metadata
from .kernels import DEFAULT_MASK_VALUE
from .running_softmax import RunningSoftmax

__all__ = [
    "dynamic_validate_inputs",
    "get_tuned_block_sizes",
    "ragged_paged_attention",
    "ref_ragged_paged_attention",
    "static_validate_inputs",
]


def static_validate_inputs(
    q: Any,
    kv_pages: Any,
    kv_lens: Any,
    page_indices: Any,
    cu_q_lens: Any,
    num_seqs: Any,
    *,
    sm_scale: float | None = None,
    sliding_window: int | None = None,
    soft_cap: float | None = None,
    mask_value: float | None = None,
    k_scale: float | None = None,
    v_scale: float | None = None,
    num_kv_pages_per_block: int | None = None,
    num_queries_per_block: int | None = None,
    vmem_limit_bytes: int | None = None,
) -> None:
    """Checks the types of the arguments; the parameters are those of `ragged_paged_attention`.

    Raises:
      ValueError: shapes, dtypes or options are not consistent.
    """
    heads, size = q.shape[1:]
    combined, size_of_keys = kv_pages.shape[2:]
    sequences, pages = page_indices.shape
    positive = {
        "sliding_window": sliding_window,
        "num_queries_per_block": num_queries_per_block,
        "vmem_limit_bytes": vmem_limit_bytes,
    }
    if num_seqs.shape != (1,):
        raise ValueError(f"num_seqs.shape={num_seqs.shape} must be (1,)")
    if size_of_keys != size:
        raise ValueError(f"Q head_dim {size} must be the same as that of K/V {size_of_keys}.")
    for name, array, expected in (
        ("kv_lens", kv_lens, (sequences,)),
        ("cu_q_lens", cu_q_lens, (sequences + 1,)),
    ):
        if array.shape != expected:
            raise ValueError(
                f"Expected {name}.shape={array.shape} to be {expected} where `max_num_seqs` is "
                "`page_indices.shape[0]`."
            )
    integer_arrays = {"kv_lens": kv_lens, "page_indices": page_indices, "cu_q_lens": cu_q_lens}
    if any(array.dtype != np.int32 for array in integer_arrays.values()):
        shown_dtypes = ", ".join(
            f"{name}.dtype={array.dtype}" for name, array in integer_arrays.items()
        )
        raise ValueError(
            "The dtype of `kv_lens`, `page_indices`, and `cu_q_lens` must be int32. Got "
            + shown_dtypes
        )
    if combined % 2 or heads % (combined // 2):
        raise ValueError(f"num_q_heads={heads} must be divisible by num_kv_heads={combined // 2}")
    for name, number in positive.items():
        if number is not None and number <= 0:
            raise ValueError(f"{name}={number} must be positive.")
    if soft_cap == 0.0:
        raise ValueError(f"soft_cap={soft_cap} must not be 0.0.")
    if num_kv_pages_per_block is not None and not 0 < num_kv_pages_per_block <= pages:
        raise ValueError(
            f"num_kv_pages_per_block={num_kv_pages_per_block} must be in range (0, {pages}]."
        )


def dynamic_validate_inputs(
    q: Any,
    kv_pages: Any,
    kv_lens: Any,
    page_indices: Any,
    cu_q_lens: Any,
    num_seqs: Any,
    **options: Any,
) -> None:
    """Checks the types and the values of the arguments of `ragged_paged_attention`.

    Args:
      q: queries.
      kv_pages: pages of keys and values.
      kv_lens: concrete numbers of keys.
      page_indices: pages of the sequences.
      cu_q_lens: concrete indices of the first queries of the sequences.
      num_seqs: the concrete number of sequences.
      **options: options of `ragged_paged_attention`.

    Raises:
      ValueError: arguments are not consistent, or a sequence has more queries than keys.
    """
    static_validate_inputs(q, kv_pages, kv_lens, page_indices, cu_q_lens, num_seqs, **options)
    rows, page_size = q.shape[0], kv_pages.shape[1]
    sequences, pages = page_indices.shape
    number = int(num_seqs[0])
    if number > sequences:
        raise ValueError(f"num_seqs[0]={number} must be less or equal to max_num_seqs={sequences}")
    lengths, starts = np.asarray(kv_lens), np.asarray(cu_q_lens)
    needed = cdiv(int(lengths.max()), page_size)
    if pages < needed:
        raise ValueError(
            f"pages_per_seq={pages} must be greater or equal to min_pages_per_seq={needed} given "
            f"max_kv_len={lengths.max()} and page_size={page_size}."
        )
    if starts[number] > rows:
        raise ValueError(
            f"Total q tokens {starts[number]} must be less or equal to "
            f"max_num_batched_tokens={rows}."
        )
    for i in range(number):
        queries = starts[i + 1] - starts[i]
        if queries > lengths[i]:
            raise ValueError(
                f"q_len={queries} must be less or equal to kv_len={lengths[i]} at sequence {i}."
            )


def get_tuned_block_sizes(
    q_dtype: Any,
    kv_dtype: Any,
    num_q_heads_per_blk: int,
    num_kv_heads_per_blk: int,
    head_dim: int,
    page_size: int,
    max_num_batched_tokens: int,
    pages_per_seq: int,
) -> tuple[int, int]:
    """Returns the numbers of pages and of queries in a block, by a heuristic.

    A block holds 128 keys and 32 queries, or fewer if there are fewer.

    Args:
      q_dtype: the dtype of queries.
      kv_dtype: the dtype of keys and values.
      num_q_heads_per_blk: the number of query heads in a block.
      num_kv_heads_per_blk: the number of key heads in a block.
      head_dim: the size of a query.
      page_size: the number of keys of a page.
      max_num_batched_tokens: the number of queries.
      pages_per_seq: the number of pages of a sequence.

    Returns:
      The number of pages and the number of queries in a block.

    Example:
      >>> get_tuned_block_sizes("float32", "float32", 8, 1, 128, 16, 1024, 64)
      (8, 32)
    """
    pages = min(max(1, 128 // page_size), pages_per_seq)
    return pages, min(32, max_num_batched_tokens)


def _page_spec(shape: tuple[int, ...], pages_a_step: int, position: int, values: int) -> BlockSpec:
    """Returns the block specification of a page's keys, or of its values if `values` is 1."""

    def index(h, visit, step, tiles_ref, groups_ref, starts_ref, lengths_ref, pages_ref, *_):
        last = pages_ref.shape[1] - 1
        page = pages_ref[groups_ref[visit], jnp.minimum(step * pages_a_step + position, last)]
        return page, 0, 2 * h + values, 0

    return BlockSpec((None, shape[1], None, shape[3]), index)


@dataclasses.dataclass(frozen=True)
class _Call:
    """The kernel for blocks of queries and pages of given sizes.

    Attributes:
      block: the number of queries of a block.
      group: the number of heads of queries that share a head of keys.
      size: the size of a query.
      page_size: the number of keys of a page.
      pages: the number of pages of a step.
      scale: the factor of scores.
      window: the number of most recent keys that a query attends to, or None.
      cap: the bound of scores, or None.
      least: a number below all scores.
      k_scale: the factor of keys, or None.
      v_scale: the factor of values, or None.
    """

    block: int
    group: int
    size: int
    page_size: int
    pages: int
    scale: float
    window: int | None
    cap: float | None
    least: float
    k_scale: float | None
    v_scale: float | None

    def scores(self, q_ref: Any, keys: Any) -> Any:
        """Returns the scores of the queries of a block, [queries and heads, keys]."""
        queries = q_ref[...].reshape(self.block * self.group, self.size).astype(np.float32)
        keys = keys if self.k_scale is None else keys * self.k_scale
        dimensions = (((1,), (1,)), ((), ()))
        scores = lax.dot_general(queries, keys, dimensions, precision=lax.Precision.HIGHEST)
        scores = scores * self.scale
        return scores if self.cap is None else self.cap * jnp.tanh(scores / self.cap)

    def kernel(
        self,
        tiles_ref: Any,
        groups_ref: Any,
        starts_ref: Any,
        lengths_ref: Any,
        pages_ref: Any,
        count_ref: Any,
        *refs: Any,
    ) -> None:
        """Adds the keys of one step to the running softmax of one block of queries."""
        q_ref, inputs, o_ref, softmax = refs[0], refs[1:-4], refs[-4], RunningSoftmax(*refs[-3:])
        visit, step = program_id(1), program_id(2)
        sequence, first_key = groups_ref[visit], step * self.pages * self.page_size
        length, start, end = lengths_ref[sequence], starts_ref[sequence], starts_ref[sequence + 1]
        is_used = visit < count_ref[0]

        def token(shape: tuple[int, int]) -> Any:  # a token has one row for each of its heads
            rows = lax.broadcasted_iota(np.int32, shape, 0)
            return rows // self.group + tiles_ref[visit] * self.block

        @when(step == 0)
        def _() -> None:
            softmax.start(self.least)

        @when(is_used & (first_key < length))
        def _() -> None:
            keys, values = _read(inputs[: self.pages]), _read(inputs[self.pages :])
            scores = self.scores(q_ref, keys)
            key = lax.broadcasted_iota(np.int32, scores.shape, 1) + first_key
            position = token(scores.shape) - end + length
            shown = (key <= position) & (key < length)
            if self.window is not None:
                shown = shown & (key > position - self.window)
            inside = lax.broadcasted_iota(np.int32, values.shape, 0) + first_key < length
            values = values if self.v_scale is None else values * self.v_scale
            softmax.add(scores, shown, jnp.where(inside, values, 0.0))

        @when(is_used & (step == num_programs(2) - 1))
        def _() -> None:
            before = o_ref[...].reshape(self.block * self.group, self.size)
            is_of_sequence = (token(before.shape) >= start) & (token(before.shape) < end)
            out = jnp.where(is_of_sequence, softmax.result().astype(o_ref.dtype), before)
            o_ref[...] = out.reshape(o_ref.shape)

    def __call__(
        self,
        q: Any,
        kv_pages: Any,
        kv_lens: Any,
        page_indices: Any,
        visits: Visits,
        number: Any,
        vmem_limit_bytes: int | None,
    ) -> Any:
        """Computes the attention, an array [tokens, heads of keys, group, head_dim]."""
        pages = self.pages
        of_queries = BlockSpec(
            (self.block, None, self.group, self.size),
            lambda h, visit, step, tiles_ref, *_: (tiles_ref[visit], h, 0, 0),
        )
        of_pages = [_page_spec(kv_pages.shape, pages, at, v) for v in (0, 1) for at in range(pages)]
        return pallas_call(
            self.kernel,
            ShapeDtypeStruct(q.shape, q.dtype),
            grid_spec=PrefetchScalarGridSpec(
                num_scalar_prefetch=6,
                grid=(q.shape[1], visits.group_ids.shape[0], cdiv(page_indices.shape[1], pages)),
                in_specs=[of_queries, *of_pages],
                out_specs=of_queries,
                scratch_shapes=RunningSoftmax.scratch(self.block * self.group, self.size),
            ),
            compiler_params=CompilerParams(
                dimension_semantics=("parallel", "arbitrary", "arbitrary"),
                vmem_limit_bytes=vmem_limit_bytes,
            ),
            name="ragged_paged_attention",
        )(
            *(visits.m_tile_ids, visits.group_ids, visits.group_offsets, kv_lens, page_indices),
            jnp.reshape(number, (1,)),
            q,
            *([kv_pages] * (2 * pages)),
        )


def _ragged_paged_attention(
    q: Any,
    kv_pages: Any,
    kv_lens: Any,
    page_indices: Any,
    cu_q_lens: Any,
    num_seqs: Any,
    *,
    sm_scale: float = 1.0,
    sliding_window: int | None = None,
    soft_cap: float | None = None,
    mask_value: float | None = DEFAULT_MASK_VALUE,
    k_scale: float | None = None,
    v_scale: float | None = None,
    num_kv_pages_per_block: int | None = None,
    num_queries_per_block: int | None = None,
    vmem_limit_bytes: int | None = None,
) -> Any:
    """Computes ragged paged attention. The queries are the last tokens of each sequence.

    Args:
      q: the queries of all sequences, one sequence after the other, [queries, heads, head_dim].
      kv_pages: pages of keys and values, [pages, length of a page, 2 heads of keys, head_dim]. The
        keys and the values of a head alternate along the third dimension.
      kv_lens: the number of keys of each sequence, i32[sequences].
      page_indices: the pages of each sequence, i32[sequences, pages of a sequence].
      cu_q_lens: the index of the first query of each sequence, followed by the number of queries in
        all sequences, i32[sequences + 1].
      num_seqs: the number of sequences in use, i32[1].
      sm_scale: the factor of the products of queries and keys.
      sliding_window: the number of most recent keys that a query attends to; all by default.
      soft_cap: the bound c of scores, which become c tanh(score / c).
      mask_value: a number below all scores.
      k_scale: the factor of keys.
      v_scale: the factor of values.
      num_kv_pages_per_block: the number of pages of one step.
      num_queries_per_block: the number of queries of a program.
      vmem_limit_bytes: the size of vector memory that the kernel may use.

    Returns:
      An array of the shape and dtype of queries; zeros for queries that belong to no sequence.

    Raises:
      ValueError: shapes, dtypes or options are not consistent.

    Example:
      >>> from olympus_pallas.tpu import force_tpu_interpret_mode
      >>> q, pages = np.ones((3, 2, 8), np.float32), np.ones((2, 4, 2, 8), np.float32)
      >>> lengths, table = np.int32([3]), np.int32([[1]])
      >>> with force_tpu_interpret_mode():
      ...     out = ragged_paged_attention(
      ...         q, pages, lengths, table, np.int32([0, 3]), np.int32([1]))
      >>> out.shape
      (3, 2, 8)
    """
    static_validate_inputs(
        *(q, kv_pages, kv_lens, page_indices, cu_q_lens, num_seqs),
        sliding_window=sliding_window,
        soft_cap=soft_cap,
        num_kv_pages_per_block=num_kv_pages_per_block,
        num_queries_per_block=num_queries_per_block,
        vmem_limit_bytes=vmem_limit_bytes,
    )
    tokens, heads, size = q.shape
    kv_heads, page_size = kv_pages.shape[2] // 2, kv_pages.shape[1]
    group, (sequences, all_pages) = heads // kv_heads, page_indices.shape
    tuned = get_tuned_block_sizes(
        q.dtype, kv_pages.dtype, group, 1, size, page_size, tokens, all_pages
    )
    block = min(num_queries_per_block or tuned[1], tokens)
    used = jnp.arange(sequences, dtype=np.int32) < num_seqs[0]
    visits, number = make_group_metadata(
        group_sizes=jnp.where(used, cu_q_lens[1:] - cu_q_lens[:-1], 0),
        m=tokens,
        tm=block,
        start_group=0,
        num_nonzero_groups=sequences,
        visit_empty_groups=False,
    )
    call = _Call(
        block=block,
        group=group,
        size=size,
        page_size=page_size,
        pages=num_kv_pages_per_block or tuned[0],
        scale=sm_scale,
        window=sliding_window,
        cap=soft_cap,
        least=DEFAULT_MASK_VALUE if mask_value is None else mask_value,
        k_scale=k_scale,
        v_scale=v_scale,
    )
    grouped = q.reshape(tokens, kv_heads, group, size)
    out = call(grouped, kv_pages, kv_lens, page_indices, visits, number, vmem_limit_bytes)
    in_sequence = lax.broadcasted_iota(np.int32, q.shape, 0) < visits.group_offsets[-1]
    return jnp.where(in_sequence, out.reshape(q.shape), jnp.zeros((), q.dtype))


def _read(refs: Any) -> Any:
    """Returns the keys or values of several pages, [keys, head_dim], in single precision."""
    return jnp.concatenate([ref[...] for ref in refs], axis=0).astype(np.float32)


ragged_paged_attention = jit(
    _ragged_paged_attention,
    static_argnames=(
        *("sm_scale", "sliding_window", "soft_cap", "mask_value", "k_scale", "v_scale"),
        *("num_kv_pages_per_block", "num_queries_per_block", "vmem_limit_bytes"),
    ),
)


def ref_ragged_paged_attention(
    queries: Any,
    kv_pages: Any,
    kv_lens: Any,
    page_indices: Any,
    cu_q_lens: Any,
    num_seqs: Any,
    *,
    sm_scale: float = 1.0,
    sliding_window: int | None = None,
    soft_cap: float | None = None,
    mask_value: float | None = DEFAULT_MASK_VALUE,
    k_scale: float | None = None,
    v_scale: float | None = None,
) -> Any:
    """Computes `ragged_paged_attention` by its definition, sequence by sequence.

    Args:
      queries: queries of all sequences.
      kv_pages: pages of keys and values.
      kv_lens: numbers of keys.
      page_indices: pages of the sequences.
      cu_q_lens: concrete indices of the first queries of the sequences.
      num_seqs: the concrete number of sequences.
      sm_scale: the factor of the products of queries and keys.
      sliding_window: the number of most recent keys that a query attends to.
      soft_cap: the bound c of scores, which become c tanh(score / c).
      mask_value: a number below all scores.
      k_scale: the factor of keys.
      v_scale: the factor of values.

    Returns:
      The results for the queries that belong to sequences, [queries in use, heads, head_dim].
    """
    static_validate_inputs(
        *(queries, kv_pages, kv_lens, page_indices, cu_q_lens, num_seqs),
        sliding_window=sliding_window,
        soft_cap=soft_cap,
    )
    heads, size = queries.shape[1:]
    kv_heads = kv_pages.shape[2] // 2
    least = DEFAULT_MASK_VALUE if mask_value is None else mask_value
    outputs = []
    for i in range(int(num_seqs[0])):
        q = jnp.asarray(queries)[int(cu_q_lens[i]) : int(cu_q_lens[i + 1])].astype(np.float32)
        length = int(kv_lens[i])
        rows = jnp.asarray(kv_pages)[page_indices[i]].reshape(-1, 2 * kv_heads, size)[:length]
        rows = jnp.repeat(rows.astype(np.float32), heads // kv_heads, axis=1)
        rows = rows.reshape(length, kv_heads, 2, heads // kv_heads, size)
        k, v = (rows[:, :, at].reshape(length, heads, size) for at in (0, 1))
        k = k if k_scale is None else k * k_scale
        v = v if v_scale is None else v * v_scale
        scores = jnp.einsum("qhd,khd->hqk", q, k) * sm_scale
        scores = scores if soft_cap is None else soft_cap * jnp.tanh(scores / soft_cap)
        position = np.arange(length - q.shape[0], length)[:, None]
        hidden = np.arange(length) > position
        if sliding_window is not None:
            hidden |= np.arange(length) <= position - sliding_window
        scores = jnp.where(hidden, least, scores)
        weights = jnp.exp(scores - jnp.max(scores, axis=-1, keepdims=True))
        weights = weights / jnp.sum(weights, axis=-1, keepdims=True)
        outputs.append(jnp.einsum("hqk,khd->qhd", weights, v).astype(queries.dtype))
    return jnp.concatenate(outputs, axis=0)
