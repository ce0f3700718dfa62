# SPDX-License-Identifier: Apache-2.0
"""Dense attention over batches, with an optional bias and segments."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_autodiff import custom_vjp
from olympus_batching import vmap
from olympus_ir import lax

from . import kernels
from .kernels import DEFAULT_MASK_VALUE, Operands, Settings
from .mask_blocks import MaskBlocks, mask_blocks
from .masks import CausalMask, FullMask, MultiHeadMask
from .splash import SegmentIds

__all__ = ["DEFAULT_MASK_VALUE", "BlockSizes", "SegmentIds", "flash_attention", "mha_reference"]


@dataclass(frozen=True)
class BlockSizes:
    """Numbers of queries and keys in the blocks of each kernel.

    Args:
      block_q: queries per program of the forward kernel.
      block_k_major: keys per program of the forward kernel.
      block_k: keys per step of the forward kernel; a divisor of ``block_k_major``.
      block_b: examples per program. It has no effect: each example has its own programs.
      block_q_major_dkv: queries per program of the kernel for the cotangents of keys and values.
      block_k_major_dkv: keys per program of the kernel for the cotangents of keys and values.
      block_k_dkv: keys per step of the kernel for the cotangents of keys and values.
      block_q_dkv: queries per step of the kernel for the cotangents of keys and values.
      block_k_major_dq: keys per program of the kernel for the cotangents of queries.
      block_k_dq: keys per step of the kernel for the cotangents of queries.
      block_q_dq: queries per program of the kernel for the cotangents of queries.

    Raises:
      ValueError: a block size does not divide the corresponding major block size.

    Example:
      >>> BlockSizes(128, 256, 128, 1).has_backward_blocks
      False
    """

    block_q: int
    block_k_major: int
    block_k: int
    block_b: int
    block_q_major_dkv: int | None = None
    block_k_major_dkv: int | None = None
    block_k_dkv: int | None = None
    block_q_dkv: int | None = None
    block_k_major_dq: int | None = None
    block_k_dq: int | None = None
    block_q_dq: int | None = None

    def __post_init__(self) -> None:
        for whole, part in (
            ("block_k_major", "block_k"),
            ("block_q_major_dkv", "block_q_dkv"),
            ("block_k_major_dkv", "block_k_dkv"),
            ("block_k_major_dq", "block_k_dq"),
        ):
            of_whole, of_part = getattr(self, whole), getattr(self, part)
            if of_whole is not None and of_part is not None and of_whole % of_part:
                raise ValueError(f"{part}={of_part} does not divide {whole}={of_whole}")

    @property
    def has_backward_blocks(self) -> bool:
        """Returns whether the block sizes of the backward kernels are given."""
        return None not in (
            self.block_q_major_dkv,
            self.block_k_major_dkv,
            self.block_k_major_dq,
            self.block_q_dq,
        )

    @classmethod
    def get_default(
        cls, batch_size: int, num_heads: int, q_seq_len: int, kv_len: int, d_model: int
    ) -> BlockSizes:
        """Returns block sizes of 128 queries and keys, for all shapes."""
        return cls(128, 128, 128, 1, 128, 128, 128, 128, 128, 128, 128)


def flash_attention(
    q: Any,
    k: Any,
    v: Any,
    ab: Any = None,
    segment_ids: SegmentIds | None = None,
    *,
    causal: bool = False,
    sm_scale: float = 1.0,
    block_sizes: BlockSizes | None = None,
    debug: bool = False,
) -> Any:
    """Computes attention by blocks, without an array of all pairs of queries and keys.

    Args:
      q: queries, [batch, heads, queries, head_dim].
      k: keys, [batch, heads, keys, head_dim].
      v: values, of the shape of keys.
      ab: the bias that is added to the scaled products, [batch, heads, queries, keys]; or None.
      segment_ids: the segments of queries, [batch, queries], and keys, [batch, keys]; or None.
        Queries attend to the keys of their own segment.
      causal: whether queries see only keys up to their own position.
      sm_scale: the factor of the products of queries and keys.
      block_sizes: the numbers of queries and keys that a program processes; by default 128.
      debug: ignored; the flags of `pallas_call` make kernels print their programs.

    Returns:
      An array of the shape of queries.

    Raises:
      ValueError: the shapes are not consistent, or are not multiples of the block sizes.

    Example:
      >>> import numpy as np
      >>> from olympus_pallas import tpu
      >>> x = np.ones((1, 1, 128, 128), np.float32)
      >>> with tpu.force_tpu_interpret_mode():
      ...     flash_attention(x, x, x, causal=True).shape
      (1, 1, 128, 128)
    """
    _check(q, k, v, ab, segment_ids)
    if block_sizes is None:
        batch, heads, queries, size = q.shape
        block_sizes = BlockSizes.get_default(batch, heads, queries, k.shape[2], size)
    options = (bool(causal), float(sm_scale), block_sizes)
    of_batch = vmap(functools.partial(_attention, options))
    segments = None if segment_ids is None else SegmentIds(*segment_ids)
    return of_batch(q, k, v, ab, segments)


def _check(q: Any, k: Any, v: Any, ab: Any, segment_ids: Any) -> None:
    if q.ndim != 4 or k.ndim != 4:
        raise ValueError(f"q and k need four dimensions, got shapes {q.shape} and {k.shape}")
    if k.shape != v.shape or q.shape[:2] != k.shape[:2] or q.shape[3] != k.shape[3]:
        raise ValueError(
            "q, k and v need equal numbers of examples and heads and equal sizes, and k and v "
            f"equal shapes, got {q.shape}, {k.shape} and {v.shape}"
        )
    pairs = (*q.shape[:3], k.shape[2])
    if ab is not None and ab.shape != pairs:
        raise ValueError(f"ab needs the shape {pairs}, got {ab.shape}")
    if segment_ids is not None:
        expected = [(q.shape[0], q.shape[2]), (k.shape[0], k.shape[2])]
        shapes = [np.shape(segment_id) for segment_id in segment_ids]
        if shapes != expected:
            raise ValueError(f"segment_ids need the shapes {expected}, got {shapes}")


def _operands(q: Any, k: Any, v: Any, ab: Any, segments: Any) -> Operands:
    if segments is None:
        return Operands(q, k, v, bias=ab)
    return Operands(q, k, v, segments.q[:, None], segments.kv[None, :], ab)


def _mask(options: Any, q: Any, k: Any, settings: Settings, by_keys: bool = False) -> MaskBlocks:
    causal, _, _ = options
    shape = (q.shape[1], k.shape[1])
    mask = MultiHeadMask([CausalMask(shape) if causal else FullMask(shape)])
    return mask_blocks(mask, settings.block_q, settings.block_kv, 1, by_keys)


@functools.partial(custom_vjp, nondiff_argnums=(0,))
def _attention(options: Any, q: Any, k: Any, v: Any, ab: Any, segments: Any) -> Any:
    return _attention_fwd(options, q, k, v, ab, segments)[0]


def _attention_fwd(options: Any, q: Any, k: Any, v: Any, ab: Any, segments: Any) -> tuple[Any, Any]:
    _, scale, sizes = options
    settings = Settings(sizes.block_q, sizes.block_k_major, scale=scale)
    operands = _operands(q, k, v, ab, segments)
    out, logarithm = kernels.forward(operands, _mask(options, q, k, settings), settings)
    return out, (q, k, v, ab, segments, out, logarithm)


def _attention_bwd(options: Any, residuals: Any, cotangent: Any) -> tuple:
    q, k, v, ab, segments, out, logarithm = residuals
    _, scale, sizes = options
    if not sizes.has_backward_blocks:
        raise ValueError(
            "these block sizes have no blocks for cotangents: give all of BlockSizes to "
            "differentiate"
        )
    operands = _operands(q, k, v, ab, segments)
    mean = jnp.sum(out.astype(np.float32) * cotangent.astype(np.float32), axis=-1, keepdims=True)
    settings = Settings(sizes.block_q_dq, sizes.block_k_major_dq, scale=scale)
    mask = _mask(options, q, k, settings)
    of_q, of_ab = kernels.backward_queries(operands, mask, settings, logarithm, cotangent, mean)
    settings = Settings(sizes.block_q_major_dkv, sizes.block_k_major_dkv, scale=scale)
    mask = _mask(options, q, k, settings, by_keys=True)
    of_k, of_v = kernels.backward_keys(operands, mask, settings, logarithm, cotangent, mean)
    return of_q, of_k, of_v, of_ab, None


_attention.defvjp(_attention_fwd, _attention_bwd)


def mha_reference(
    q: Any,
    k: Any,
    v: Any,
    ab: Any,
    segment_ids: SegmentIds | None = None,
    causal: bool = False,
    mask_value: float = DEFAULT_MASK_VALUE,
    sm_scale: float = 1.0,
) -> Any:
    """Computes attention by its definition, with the arguments of `flash_attention`.

    Args:
      q: queries.
      k: keys.
      v: values.
      ab: the bias, or None.
      segment_ids: the segments, or None.
      causal: whether queries see only keys up to their own position.
      mask_value: the score of masked pairs of a query and a key.
      sm_scale: the factor of the products of queries and keys.

    Returns:
      An array of the shape of queries.

    Example:
      >>> import numpy as np
      >>> x = np.ones((1, 1, 2, 4), np.float32)
      >>> mha_reference(x, x, x, None, causal=True).shape
      (1, 1, 2, 4)
    """
    batched = ((0, 1), (0, 1))
    scores = lax.dot_general(q, k, (((3,), (3,)), batched), preferred_element_type=np.float32)
    scores = scores * sm_scale
    if ab is not None:
        scores = scores + ab
    shown = np.ones((1, 1, 1, 1), bool)
    if causal:
        shown = CausalMask((q.shape[2], k.shape[2]))[:, :]
    if segment_ids is not None:
        shown = shown & (segment_ids[0][:, None, :, None] == segment_ids[1][:, None, None, :])
    scores = jnp.where(shown, scores, mask_value)
    weights = jnp.exp(scores - jnp.max(scores, axis=-1, keepdims=True))
    weights = weights / jnp.sum(weights, axis=-1, keepdims=True)
    out = lax.dot_general(weights, v.astype(np.float32), (((3,), (2,)), batched))
    return out.astype(q.dtype)
