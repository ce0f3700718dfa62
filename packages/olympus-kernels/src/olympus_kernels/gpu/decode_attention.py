# SPDX-License-Identifier: Apache-2.0
"""Decode attention: one query for each example. Several programs share an example's keys."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_pallas import BlockSpec, cdiv, ds, next_power_of_2, pallas_call, program_id
from olympus_pallas.triton import CompilerParams

from .split_softmax import LEAST, Sums, join

__all__ = ["gqa", "gqa_reference", "mha_reference", "mqa", "mqa_reference"]


class _Decoding:
    """The kernel of decode attention, with one query for each example and head.

    Queries are [batch, heads, group, head_dim], and keys are [batch, heads, keys, head_dim]. A
    program computes the softmax sums (`Sums`) over one part of the keys of one head.
    """

    def __init__(
        self, q: Any, k: Any, scale: float, block_h: int, block_k: int, parts: int
    ) -> None:
        self.batch, self.kv_heads, self.group, self.size = q.shape
        self.keys = k.shape[2]
        self.scale = scale
        self.rows = max(block_h, next_power_of_2(self.group))
        self.width = next_power_of_2(self.size)
        self.block_k = min(block_k, next_power_of_2(self.keys))
        self.parts = min(parts, cdiv(self.keys, self.block_k))
        self.steps = cdiv(cdiv(self.keys, self.parts), self.block_k)

    def kernel(self, q_ref: Any, k_ref: Any, v_ref: Any, span_ref: Any, *outputs: Any) -> None:
        """Writes the softmax sums (`Sums`) over one part of the keys."""
        q = q_ref[...]
        first = program_id(2) * self.steps * self.block_k
        start, end = span_ref[0], span_ref[1]

        def step(number: Any, sums: Sums) -> Sums:
            positions = ds(number * self.block_k, self.block_k)
            k, v = k_ref[positions, :], v_ref[positions, :]
            scores = lax.dot_general(
                *(q, k, (((1,), (1,)), ((), ()))), preferred_element_type=np.float32
            )
            key = lax.broadcasted_iota(np.int32, scores.shape, 1) + first + number * self.block_k
            return sums.add(scores * np.float32(self.scale), (key >= start) & (key < end), v)

        sums = lax.fori_loop(0, self.steps, step, Sums.zeros(self.rows, self.width))
        for ref, value in zip(outputs, sums, strict=True):
            ref[...] = value

    def __call__(self, q: Any, k: Any, v: Any, span: Any, options: dict[str, Any]) -> Sums:
        """Returns the softmax sums over all keys, [batch, heads of keys, group].

        Args:
          q: queries.
          k: keys.
          v: values.
          span: the index of each example's first key, and the index after its last key, i32[batch,
            2].
          options: options of `pallas_call`.
        """
        rows, width, of_part = self.rows, self.width, self.steps * self.block_k
        more = self.parts * of_part - self.keys
        q = jnp.pad(q, [(0, 0)] * 2 + [(0, rows - self.group), (0, width - self.size)])
        k, v = (jnp.pad(x, [(0, 0)] * 2 + [(0, more), (0, width - self.size)]) for x in (k, v))
        of_keys = BlockSpec((None, None, of_part, width), lambda b, h, part: (b, h, part, 0))
        lead = (self.batch, self.kv_heads, self.parts)
        shapes, blocks = Sums.outputs(lead, rows, width)
        sums = pallas_call(
            self.kernel,
            shapes,
            grid=lead,
            in_specs=[
                BlockSpec((None, None, rows, width), lambda b, h, part: (b, h, 0, 0)),
                *(of_keys, of_keys),
                BlockSpec((None, 2), lambda b, h, part: (b, 0)),
            ],
            out_specs=blocks,
            **options,
        )(q, k, v, span)
        joined = join(Sums(*sums), axis=2)
        return Sums(
            joined.values[:, :, : self.group, : self.size],
            *(array[..., : self.group] for array in joined[1:]),
        )


def _span(start_idx: Any, kv_seq_len: Any, batch: int, keys: int) -> Any:
    start = 0 if start_idx is None else start_idx
    end = keys if kv_seq_len is None else kv_seq_len
    ends = [jnp.broadcast_to(jnp.asarray(bound, np.int32), (batch,)) for bound in (start, end)]
    return jnp.stack(ends, axis=1)


def _outputs(sums: Sums, dtype: Any, shape: Any, residuals: bool, normalize: bool) -> Any:
    values = sums.values
    if normalize:
        values = values / jnp.where(sums.total == 0, 1.0, sums.total)[..., None]
    out = values.astype(dtype).reshape(shape)
    if not residuals:
        return out
    return out, (sums.total.reshape(shape[:-1]), sums.maximum.reshape(shape[:-1]))


def _gqa(
    q: Any,
    k: Any,
    v: Any,
    start_idx: Any = None,
    kv_seq_len: Any = None,
    sm_scale: float | None = None,
    block_h: int = 16,
    block_k: int = 128,
    k_splits: int = 16,
    num_warps: int | None = None,
    num_stages: int = 2,
    grid: tuple[int, ...] | None = None,
    interpret: bool = False,
    debug: bool = False,
    return_residuals: bool = False,
    normalize_output: bool = True,
) -> Any:
    """Computes grouped-query attention with one query for each example and head.

    Args:
      q: queries, [batch, heads, head_dim].
      k: keys, [batch, keys, heads of keys, head_dim].
      v: values, of the shape of keys.
      start_idx: the index of each example's first key, i32[batch] or a scalar; 0 by default.
      kv_seq_len: the index after each example's last key; by default the number of keys.
      sm_scale: the factor by which the products of queries and keys are multiplied; by default
        ``1 / sqrt(head_dim)``.
      block_h: the smallest number of rows in a product; fewer queries are padded.
      block_k: the number of keys of a step.
      k_splits: the number of programs that share the keys of a head.
      num_warps: the number of warps of a program.
      num_stages: the number of stages of loads that overlap.
      grid: ignored: the grid follows from the shapes.
      interpret: whether to interpret the kernel instead of compiling it.
      debug: whether to print the kernel.
      return_residuals: whether to also return the softmax sums.
      normalize_output: whether to divide by the sums of the exponentials.

    Returns:
      An array of the shape and dtype of queries. With ``return_residuals``, a pair of this array
      and the pair ``(sums of exponentials, maxima of scores)``, each of shape [batch, heads].

    Raises:
      ValueError: the shapes are not consistent.

    Example:
      >>> q, k = np.ones((1, 4, 16), np.float32), np.ones((1, 32, 2, 16), np.float32)
      >>> gqa(q, k, k, kv_seq_len=5, interpret=True).shape
      (1, 4, 16)
    """
    del grid
    batch, heads, size = q.shape
    if k.shape != v.shape or k.shape[0] != batch or k.shape[3] != size or heads % k.shape[2]:
        raise ValueError(
            "gqa: q must have the batch size and the head size of k, v the shape of k, and the "
            "number of heads of q must be a multiple of that of k, got "
            f"q: {q.shape}, k: {k.shape} and v: {v.shape}"
        )
    kv_heads = k.shape[2]
    grouped = q.reshape(batch, kv_heads, heads // kv_heads, size)
    keys, values = (jnp.swapaxes(x, 1, 2) for x in (k, v))
    scale = 1 / math.sqrt(size) if sm_scale is None else sm_scale
    options = {
        "compiler_params": CompilerParams(num_warps=num_warps or 4, num_stages=num_stages),
        "interpret": interpret,
        "debug": debug,
        "name": "decode_attention",
    }
    decode = _Decoding(grouped, keys, scale, block_h, block_k, k_splits)
    sums = decode(grouped, keys, values, _span(start_idx, kv_seq_len, batch, k.shape[1]), options)
    return _outputs(sums, q.dtype, q.shape, return_residuals, normalize_output)


_STATIC = (
    *("sm_scale", "block_h", "block_k", "k_splits", "num_warps", "num_stages", "grid"),
    *("interpret", "debug", "return_residuals", "normalize_output"),
)
gqa = jit(_gqa, static_argnames=_STATIC)


def _mqa(
    q: Any,
    k: Any,
    v: Any,
    start_idx: Any = None,
    kv_seq_len: Any = None,
    sm_scale: float | None = None,
    block_h: int = 16,
    block_k: int = 256,
    k_splits: int = 16,
    num_warps: int | None = None,
    num_stages: int = 2,
    grid: tuple[int, ...] | None = None,
    interpret: bool = False,
    debug: bool = False,
    return_residuals: bool = False,
    normalize_output: bool = True,
) -> Any:
    """Computes multi-query attention with one query for each example and head.

    Args:
      q: queries, [batch, heads, head_dim].
      k: keys, [batch, keys, head_dim].
      v: values, of the shape of keys.
      start_idx: the index of each example's first key, i32[batch] or a scalar; 0 by default.
      kv_seq_len: the index after each example's last key; by default the number of keys.
      sm_scale: as in `gqa`.
      block_h: the smallest number of rows in a product; fewer queries are padded.
      block_k: the number of keys of a step.
      k_splits: the number of programs that share the keys.
      num_warps: the number of warps of a program.
      num_stages: the number of stages of loads that overlap.
      grid: ignored.
      interpret: whether to interpret the kernel instead of compiling it.
      debug: whether to print the kernel.
      return_residuals: whether to also return the softmax sums.
      normalize_output: whether to divide by the sums of the exponentials.

    Returns:
      The results of `gqa`.

    Example:
      >>> q, k = np.ones((1, 4, 16), np.float32), np.ones((1, 32, 16), np.float32)
      >>> mqa(q, k, k, interpret=True).shape
      (1, 4, 16)
    """
    return _gqa(
        *(q, k[:, :, None], v[:, :, None], start_idx, kv_seq_len, sm_scale, block_h, block_k),
        *(k_splits, num_warps, num_stages, grid, interpret, debug),
        return_residuals=return_residuals,
        normalize_output=normalize_output,
    )


mqa = jit(_mqa, static_argnames=_STATIC)


def gqa_reference(
    q: Any,
    k: Any,
    v: Any,
    start_idx: Any = None,
    kv_seq_len: Any = None,
    sm_scale: float | None = None,
    return_residuals: bool = False,
    normalize_output: bool = True,
) -> Any:
    """Computes attention by array operations, with the arguments of `gqa`.

    Args:
      q: queries.
      k: keys.
      v: values.
      start_idx: the index of each example's first key.
      kv_seq_len: the index after each example's last key.
      sm_scale: the factor by which the products of queries and keys are multiplied.
      return_residuals: whether to also return the softmax sums.
      normalize_output: whether to divide by the sums of the exponentials.

    Returns:
      The results of `gqa`.
    """
    batch, heads, size = q.shape
    kv_heads = k.shape[2]
    scale = 1 / math.sqrt(size) if sm_scale is None else sm_scale
    grouped = q.astype(np.float32).reshape(batch, kv_heads, heads // kv_heads, size)
    scores = jnp.einsum("bhgd,bkhd->bhgk", grouped, k.astype(np.float32)) * np.float32(scale)
    span = _span(start_idx, kv_seq_len, batch, k.shape[1])[:, None, None]
    key = jnp.arange(k.shape[1], dtype=np.int32)
    shown = (key >= span[..., :1]) & (key < span[..., 1:])
    scores = jnp.where(shown, scores, LEAST)
    maximum = jnp.max(scores, axis=-1)
    weights = jnp.exp(scores - maximum[..., None])
    values = jnp.einsum("bhgk,bkhd->bhgd", weights, v.astype(np.float32))
    sums = Sums(values, jnp.sum(weights, axis=-1), maximum)
    return _outputs(sums, q.dtype, q.shape, return_residuals, normalize_output)


def mqa_reference(
    q: Any,
    k: Any,
    v: Any,
    start_idx: Any = None,
    kv_seq_len: Any = None,
    sm_scale: float | None = None,
    return_residuals: bool = False,
    normalize_output: bool = True,
) -> Any:
    """Computes attention by array operations, with the arguments of `mqa`.

    Args:
      q: queries.
      k: keys.
      v: values.
      start_idx: the index of each example's first key.
      kv_seq_len: the index after each example's last key.
      sm_scale: the factor by which the products of queries and keys are multiplied.
      return_residuals: whether to also return the softmax sums.
      normalize_output: whether to divide by the sums of the exponentials.

    Returns:
      The results of `mqa`.
    """
    keys, values = k[:, :, None], v[:, :, None]
    options = (start_idx, kv_seq_len, sm_scale, return_residuals, normalize_output)
    return gqa_reference(q, keys, values, *options)


def mha_reference(
    q: Any,
    k: Any,
    v: Any,
    start_idx: Any = None,
    kv_seq_len: Any = None,
    sm_scale: float | None = None,
) -> Any:
    """Computes attention with keys and values for each head, by array operations.

    Args:
      q: queries, [batch, heads, head_dim].
      k: keys, [batch, keys, heads, head_dim].
      v: values, of the shape of keys.
      start_idx: the index of each example's first key.
      kv_seq_len: the index after each example's last key.
      sm_scale: the factor by which the products of queries and keys are multiplied.

    Returns:
      An array of the shape of queries.
    """
    return gqa_reference(q, k, v, start_idx, kv_seq_len, sm_scale)
