# SPDX-License-Identifier: Apache-2.0
"""Paged attention: one query for each sequence, whose keys and values are stored in pages.

The pages of all sequences share one array, and a table lists the pages of each sequence (W. Kwon et
al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", 2023).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir import ShapeDtypeStruct, lax
from olympus_ir.programs.jit import jit
from olympus_pallas import BlockSpec, num_programs, pallas_call, program_id, when
from olympus_pallas.tpu import CompilerParams, PrefetchScalarGridSpec

from ..quantization import QuantizedTensor, from_int8
from .kernels import DEFAULT_MASK_VALUE
from .running_softmax import RunningSoftmax

__all__ = ["paged_attention"]


def _weights_of(pages: Any) -> Any:
    return pages.weight if isinstance(pages, QuantizedTensor) else pages


def _check(q: Any, k: Any, v: Any, lengths: Any, page_indices: Any, pages_a_step: int) -> None:
    batch, heads, size = q.shape
    if k.shape != v.shape:
        raise ValueError(
            f"k_pages and v_pages must have the same shape. Got {k.shape} and {v.shape}"
        )
    if heads % k.shape[0]:
        raise ValueError(
            "Number of Q heads must be divisible by number of KV heads. "
            f"Got {heads} and {k.shape[0]}."
        )
    if k.shape[3] != size:
        raise ValueError(
            f"head_dim of Q must be the same as that of K/V. Got {size} and {k.shape[3]}."
        )
    if page_indices.shape[1] % pages_a_step:
        raise ValueError(
            "pages_per_compute_block must be divisible by pages per sequence. Got "
            f"{pages_a_step} and {page_indices.shape[1]}: give a divisor of the latter."
        )
    if lengths.shape != (batch,):
        raise ValueError("`lengths` and `q` must have the same batch size")
    if page_indices.shape[0] != batch:
        raise ValueError("`page_indices` and `q` must have the same batch size")
    if lengths.dtype != np.int32:
        raise ValueError(f"The dtype of `lengths` must be int32. Got {lengths.dtype}")


def _check_cores(mode: str | None, batch: int, kv_heads: int) -> None:
    if mode not in ("kv_head", "batch", None):
        raise ValueError("megacore_mode must be one of ['kv_head', 'batch', None]")
    if mode == "kv_head" and kv_heads % 2:
        raise ValueError("number of KV heads must be even when megacore_mode is 'kv_head'")
    if mode == "batch" and batch % 2:
        raise ValueError("batch size must be even when megacore_mode is 'batch'")


def _page_spec(shape: tuple[int, ...], pages_a_step: int, position: int) -> BlockSpec:
    """Returns the block specification of one head's page at the index ``position`` in a step."""

    def index(b: Any, h: Any, step: Any, lengths_ref: Any, pages_ref: Any) -> tuple[Any, ...]:
        return h, pages_ref[b, step * pages_a_step + position], 0, 0

    return BlockSpec((None, None, *shape[2:]), index)


def _paged_attention(
    q: Any,
    k_pages: Any,
    v_pages: Any,
    lengths: Any,
    page_indices: Any,
    *,
    mask_value: float = DEFAULT_MASK_VALUE,
    attn_logits_soft_cap: float | None = None,
    pages_per_compute_block: int,
    megacore_mode: str | None = None,
    inline_seq_dim: bool = True,
) -> Any:
    """Computes paged attention with one query for each sequence and head, and unscaled scores.

    Args:
      q: queries, [sequences, heads, head_dim].
      k_pages: the pages of keys, [heads of keys, pages, length of a page, head_dim]; or a
        `QuantizedTensor` of this shape.
      v_pages: the pages of values, like those of keys.
      lengths: the number of keys of each sequence, i32[sequences].
      page_indices: the pages of each sequence, i32[sequences, pages of a sequence].
      mask_value: a number below all scores.
      attn_logits_soft_cap: the bound c of scores, which become c tanh(score / c).
      pages_per_compute_block: the number of pages of one step; a divisor of the number of pages of
        a sequence.
      megacore_mode: "kv_head" or "batch" to divide heads or sequences among the two cores of a
        chip. Only the order of programs depends on it.
      inline_seq_dim: ignored: the steps over the pages of a sequence are programs of the grid.

    Returns:
      An array of the shape and dtype of queries.

    Raises:
      ValueError: the shapes are not consistent.

    Example:
      >>> from olympus_pallas.tpu import force_tpu_interpret_mode
      >>> q, pages = np.ones((1, 2, 8), np.float32), np.ones((1, 3, 4, 8), np.float32)
      >>> lengths, table = np.int32([5]), np.int32([[2, 0]])
      >>> with force_tpu_interpret_mode():
      ...     out = paged_attention(q, pages, pages, lengths, table, pages_per_compute_block=1)
      >>> out.shape
      (1, 2, 8)
    """
    del inline_seq_dim
    k, v = _weights_of(k_pages), _weights_of(v_pages)
    _check(q, k, v, lengths, page_indices, pages_per_compute_block)
    batch, heads, size = q.shape
    kv_heads, _, page_size, _ = k.shape
    _check_cores(megacore_mode, batch, kv_heads)
    group, cap = heads // kv_heads, attn_logits_soft_cap
    pages = pages_per_compute_block
    # Each array of pages is passed once for each page of a step.
    operands = [*_arrays_of(k_pages), *_arrays_of(v_pages)]
    of_keys = len(_arrays_of(k_pages))

    def kernel(lengths_ref, pages_ref, q_ref, *refs):
        inputs, o_ref, softmax = refs[:-4], refs[-4], RunningSoftmax(*refs[-3:])
        step, length = program_id(2), lengths_ref[program_id(0)]
        first = step * pages * page_size

        @when(step == 0)
        def _() -> None:
            softmax.start(mask_value)

        @when(first < length)
        def _() -> None:
            keys = _read(inputs[: of_keys * pages], pages)
            scores = _scores(q_ref[...].astype(np.float32), keys, cap)
            position = lax.broadcasted_iota(np.int32, scores.shape, 1) + first
            values = _read(inputs[of_keys * pages :], pages)
            inside = lax.broadcasted_iota(np.int32, values.shape, 0) + first < length
            softmax.add(scores, position < length, jnp.where(inside, values, 0.0))

        @when(step == num_programs(2) - 1)
        def _() -> None:
            o_ref[...] = softmax.result().astype(o_ref.dtype)

    of_queries = BlockSpec((None, None, group, size), lambda b, h, step, *_: (b, h, 0, 0))
    parallel = [megacore_mode == "batch", megacore_mode == "kv_head", False]
    out = pallas_call(
        kernel,
        ShapeDtypeStruct((batch, kv_heads, group, size), q.dtype),
        grid_spec=PrefetchScalarGridSpec(
            num_scalar_prefetch=2,
            grid=(batch, kv_heads, page_indices.shape[1] // pages),
            in_specs=[
                of_queries,
                *(_page_spec(x.shape, pages, at) for x in operands for at in range(pages)),
            ],
            out_specs=of_queries,
            scratch_shapes=RunningSoftmax.scratch(group, size),
        ),
        compiler_params=CompilerParams(
            dimension_semantics=tuple(
                "parallel" if is_parallel else "arbitrary" for is_parallel in parallel
            )
        ),
    )(
        *(lengths, page_indices.astype(np.int32), q.reshape(batch, kv_heads, group, size)),
        *(x for x in operands for _ in range(pages)),
    )
    return out.reshape(q.shape)


def _arrays_of(pages: Any) -> list[Any]:
    """Returns the pages as a list of arrays: for quantized pages the integers and the scales."""
    return list(pages) if isinstance(pages, QuantizedTensor) else [pages]


def _read(refs: Any, pages: int) -> Any:
    """Returns the keys or values of some pages, [keys, head_dim].

    Args:
      refs: references to the pages, followed by references to their scales if they are quantized.
      pages: the number of pages.
    """
    weights = jnp.concatenate([ref[...] for ref in refs[:pages]], axis=0)
    if len(refs) == pages:
        return weights.astype(np.float32)
    scales = jnp.concatenate([ref[...] for ref in refs[pages:]], axis=0)
    return from_int8(weights, scales.astype(np.float32), np.float32)


def _scores(q: Any, keys: Any, cap: float | None) -> Any:
    product = functools.partial(lax.dot_general, precision=lax.Precision.HIGHEST)
    scores = product(q, keys, (((1,), (1,)), ((), ())))
    return scores if cap is None else cap * jnp.tanh(scores / cap)


paged_attention = jit(
    _paged_attention,
    static_argnames=(
        *("mask_value", "attn_logits_soft_cap", "pages_per_compute_block"),
        *("megacore_mode", "inline_seq_dim"),
    ),
)
