# SPDX-License-Identifier: Apache-2.0
"""Paged attention: one query for each sequence, whose keys and values are stored in pages."""

from __future__ import annotations

from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_pallas import BlockSpec, cdiv, next_power_of_2, pallas_call, program_id
from olympus_pallas.triton import CompilerParams

from .split_softmax import LEAST, Sums, join

__all__ = ["paged_attention", "paged_attention_reference"]

_MAX_INT8 = 127.5


def _check(q: Any, k: Any, v: Any, tables: Any, lengths: Any) -> None:
    batch, heads, size = q.shape
    if k.shape != v.shape or k.shape[3] != size or heads % k.shape[0]:
        raise ValueError(
            f"q: {q.shape}, k_pages: {k.shape} and v_pages: {v.shape} need one size of a vector, "
            "pages one shape, and the heads of q a multiple of those of pages"
        )
    if tables.shape[0] != batch or (lengths is not None and lengths.shape != (batch,)):
        raise ValueError(
            f"block_tables: {tables.shape} and lengths need one row for each of {batch} queries"
        )


def _of_pages(pages: Any) -> BlockSpec:
    """Returns the block specification of all pages of a head."""
    return BlockSpec((None, *pages.shape[1:]), lambda b, h, part: (h,) + (0,) * (pages.ndim - 1))


def _read(ref: Any, scales_ref: Any, page: Any) -> Any:
    """Returns the keys or values of a page, [length of a page, head_dim]."""
    if scales_ref is None:
        return ref[page]
    return ref[page].astype(np.float32) * scales_ref[page][:, None] / _MAX_INT8


def _paged_attention(
    q: Any,
    k_pages: Any,
    v_pages: Any,
    block_tables: Any,
    lengths: Any,
    k_scales_pages: Any = None,
    v_scales_pages: Any = None,
    *,
    block_h: int = 16,
    pages_per_compute_block: int = 8,
    k_splits: int = 16,
    num_warps: int = 8,
    num_stages: int = 2,
    interpret: bool = False,
    debug: bool = False,
    mask_value: float = LEAST,
    attn_logits_soft_cap: float | None = None,
) -> Any:
    """Computes paged attention with one query for each sequence and head, and unscaled scores.

    Args:
      q: queries, [sequences, heads, head_dim].
      k_pages: pages of keys, [heads of keys, pages, length of a page, head_dim].
      v_pages: pages of values, with the shape of the pages of keys.
      block_tables: the pages of each sequence, i32[sequences, pages of a sequence].
      lengths: the number of keys of each sequence, i32[sequences]; None for all.
      k_scales_pages: the scales of int8 keys, [heads of keys, pages, length of a page].
      v_scales_pages: the scales of int8 values, of the same shape.
      block_h: the smallest number of rows in a product; fewer queries are padded.
      pages_per_compute_block: ignored: a step of a program is one page.
      k_splits: the number of programs that share the pages of a head.
      num_warps: the number of warps of a program.
      num_stages: the number of stages of loads that overlap.
      interpret: whether to interpret the kernel instead of compiling it.
      debug: whether to print the kernel.
      mask_value: ignored: keys beyond the length have no weight.
      attn_logits_soft_cap: the bound c of scores, which become c tanh(score / c).

    Returns:
      An array of the shape and dtype of queries.

    Raises:
      ValueError: the shapes are not consistent.

    Example:
      >>> q, pages = np.ones((1, 2, 16), np.float32), np.ones((1, 3, 16, 16), np.float32)
      >>> paged_attention(q, pages, pages, np.int32([[2, 0]]), np.int32([20]), interpret=True).shape
      (1, 2, 16)
    """
    del pages_per_compute_block, mask_value
    _check(q, k_pages, v_pages, block_tables, lengths)
    batch, heads, size = q.shape
    kv_heads, _, page_size, _ = k_pages.shape
    group, number = heads // kv_heads, block_tables.shape[1]
    rows, width = max(block_h, next_power_of_2(group)), next_power_of_2(size)
    parts = min(k_splits, number)
    steps = cdiv(number, parts)
    if lengths is None:
        lengths = jnp.full(batch, number * page_size, np.int32)
    tables = jnp.pad(block_tables.astype(np.int32), [(0, 0), (0, parts * steps - number)])

    def kernel(q_ref, k_ref, k_scales_ref, v_ref, v_scales_ref, table_ref, length_ref, *outputs):
        q = q_ref[...]
        first, length = program_id(2) * steps, length_ref[0]

        def step(at: Any, sums: Sums) -> Sums:
            page = table_ref[first + at]
            k = _read(k_ref, k_scales_ref, page).astype(q.dtype)
            scores = lax.dot_general(
                *(q, k, (((1,), (1,)), ((), ()))), preferred_element_type=np.float32
            )
            if attn_logits_soft_cap is not None:
                scores = attn_logits_soft_cap * jnp.tanh(scores / attn_logits_soft_cap)
            key = lax.broadcasted_iota(np.int32, scores.shape, 1) + (first + at) * page_size
            return sums.add(scores, key < length, _read(v_ref, v_scales_ref, page))

        sums = lax.fori_loop(0, steps, step, Sums.zeros(rows, width))
        for ref, value in zip(outputs, sums, strict=True):
            ref[...] = value

    pages = [k_pages, k_scales_pages, v_pages, v_scales_pages]
    widen = [(0, 0)] * 3 + [(0, width - size)]
    pages = [jnp.pad(x, widen) if x is not None and x.ndim == 4 else x for x in pages]
    grouped = q.reshape(batch, kv_heads, group, size)
    grouped = jnp.pad(grouped, [(0, 0)] * 2 + [(0, rows - group), (0, width - size)])
    lead = (batch, kv_heads, parts)
    shapes, blocks = Sums.outputs(lead, rows, width)
    sums = pallas_call(
        kernel,
        shapes,
        grid=lead,
        in_specs=[
            BlockSpec((None, None, rows, width), lambda b, h, part: (b, h, 0, 0)),
            *(None if x is None else _of_pages(x) for x in pages),
            BlockSpec((None, parts * steps), lambda b, h, part: (b, 0)),
            BlockSpec((1,), lambda b, h, part: (b,)),
        ],
        out_specs=blocks,
        compiler_params=CompilerParams(num_warps=num_warps, num_stages=num_stages),
        interpret=interpret,
        debug=debug,
        name="paged_attention",
    )(grouped, *pages, tables, lengths)
    joined = join(Sums(*sums), axis=2)
    total = jnp.where(joined.total == 0, 1.0, joined.total)[..., None]
    return (joined.values / total)[:, :, :group, :size].astype(q.dtype).reshape(q.shape)


paged_attention = jit(
    _paged_attention,
    static_argnames=(
        *("block_h", "pages_per_compute_block", "k_splits", "num_warps", "num_stages"),
        *("interpret", "debug", "mask_value", "attn_logits_soft_cap"),
    ),
)


def paged_attention_reference(
    q: Any,
    k: Any,
    v: Any,
    lengths: Any,
    *,
    mask_value: float = LEAST,
    attn_logits_soft_cap: float | None = None,
) -> Any:
    """Computes attention with one query per sequence and without pages, by array operations.

    Args:
      q: queries, [sequences, heads, head_dim].
      k: keys, [sequences, keys, heads of keys, head_dim].
      v: values, of the shape of keys.
      lengths: the number of keys of each sequence, i32[sequences]; None for all.
      mask_value: the score of keys beyond the length.
      attn_logits_soft_cap: the bound c of scores, which become c tanh(score / c).

    Returns:
      An array of the shape and dtype of queries.
    """
    batch, heads, size = q.shape
    kv_heads = k.shape[2]
    grouped = q.astype(np.float32).reshape(batch, kv_heads, heads // kv_heads, size)
    scores = jnp.einsum("bhgd,bkhd->bhgk", grouped, k.astype(np.float32))
    if attn_logits_soft_cap is not None:
        scores = attn_logits_soft_cap * jnp.tanh(scores / attn_logits_soft_cap)
    if lengths is not None:
        shown = jnp.arange(k.shape[1], dtype=np.int32) < lengths[:, None, None, None]
        scores = jnp.where(shown, scores, mask_value)
    weights = jnp.exp(scores - jnp.max(scores, axis=-1, keepdims=True))
    weights = weights / jnp.sum(weights, axis=-1, keepdims=True)
    values = jnp.einsum("bhgk,bkhd->bhgd", weights, v.astype(np.float32))
    return values.astype(q.dtype).reshape(q.shape)
