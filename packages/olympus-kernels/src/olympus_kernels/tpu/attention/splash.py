# SPDX-License-Identifier: Apache-2.0
"""Attention with sparse masks: hidden blocks are neither loaded nor computed."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as jnp
from olympus_autodiff import custom_vjp
from olympus_autodiff.rematerialization.policies import checkpoint_name
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.trees.pytrees import register_pytree_node_class
from olympus_ir.types.placement import PartitionSpec

from . import kernels
from .kernels import DEFAULT_MASK_VALUE, Operands, Settings
from .mask_blocks import MaskBlocks, mask_blocks
from .masks import Mask, MultiHeadMask, NumpyMask

__all__ = [
    "DEFAULT_MASK_VALUE",
    "BlockSizes",
    "QKVLayout",
    "SegmentIds",
    "SplashAttentionKernel",
    "attention_reference",
    "make_attention_reference",
    "make_masked_mha_reference",
    "make_masked_mqa_reference",
    "make_splash_mha",
    "make_splash_mha_single_device",
    "make_splash_mqa",
    "make_splash_mqa_single_device",
]


class SegmentIds(NamedTuple):
    """Segments of the positions; queries attend to the keys of their own segment.

    Attributes:
      q: the segment ids of queries, integers of shape [queries].
      kv: the segment ids of keys, integers of shape [keys].
    """

    q: Any
    kv: Any


class QKVLayout(enum.IntEnum):
    """Minor dimension of an operand in the kernel's memory."""

    HEAD_DIM_MINOR = 1
    SEQ_MINOR = 2


@dataclass(frozen=True)
class BlockSizes:
    """Numbers of queries and keys in the blocks of each kernel.

    The sizes of the backward kernels may be missing if nothing is differentiated.

    Args:
      block_q: queries per program of the forward kernel.
      block_kv: keys per program of the forward kernel.
      block_kv_compute: keys per step of the forward kernel; a divisor of ``block_kv``.
      block_q_dkv: queries per program of the kernel for the cotangents of keys and values.
      block_kv_dkv: keys per program of the kernel for the cotangents of keys and values.
      block_kv_dkv_compute: keys per step of the kernel for the cotangents of keys and values.
      block_q_dq: queries per program of the kernel for the cotangents of queries.
      block_kv_dq: keys per program of the kernel for the cotangents of queries.
      use_fused_bwd_kernel: whether one kernel computes all cotangents. In that case there are no
        block sizes for cotangents of queries.
      q_layout: the memory layout of queries.
      k_layout: the memory layout of keys.
      v_layout: the memory layout of values.

    Raises:
      ValueError: the keys per program are not a multiple of the keys per step, or
        some of the backward kernels' sizes are missing.

    Example:
      >>> BlockSizes(block_q=256, block_kv=512).has_backward_blocks
      False
    """

    block_q: int
    block_kv: int
    block_kv_compute: int | None = None
    block_q_dkv: int | None = None
    block_kv_dkv: int | None = None
    block_kv_dkv_compute: int | None = None
    block_q_dq: int | None = None
    block_kv_dq: int | None = None
    use_fused_bwd_kernel: bool = False
    q_layout: QKVLayout = QKVLayout.HEAD_DIM_MINOR
    k_layout: QKVLayout = QKVLayout.HEAD_DIM_MINOR
    v_layout: QKVLayout = QKVLayout.HEAD_DIM_MINOR

    def __post_init__(self) -> None:
        for whole, part in (
            ("block_kv", "block_kv_compute"),
            ("block_kv_dkv", "block_kv_dkv_compute"),
        ):
            if getattr(self, part) is None:
                object.__setattr__(self, part, getattr(self, whole))
            elif getattr(self, whole) is None or getattr(self, whole) % getattr(self, part):
                raise ValueError(
                    f"{part}={getattr(self, part)} does not divide {whole}={getattr(self, whole)}"
                )
        names = ["block_q_dkv", "block_kv_dkv"]
        if self.use_fused_bwd_kernel:
            if self.block_q_dq is not None or self.block_kv_dq is not None:
                raise ValueError("`use_fused_bwd_kernel` excludes `block_q_dq` and `block_kv_dq`")
        else:
            names += ["block_q_dq", "block_kv_dq"]
        are_set = [getattr(self, name) is not None for name in names]
        if any(are_set) and not all(are_set):
            raise ValueError(f"of {', '.join(names)} either all or none must be given")

    @property
    def has_backward_blocks(self) -> bool:
        """Returns whether the block sizes of the backward kernels are given."""
        return self.block_q_dkv is not None

    @classmethod
    def get_default(cls) -> BlockSizes:
        """Returns block sizes of 128 queries and keys."""
        return cls(128, 128, 128, 128, 128, 128, 128, 128)


class _Options(NamedTuple):
    """Options of a splash kernel, the same for all its calls."""

    block_sizes: BlockSizes
    is_mqa: bool
    save_residuals: bool
    mask_value: float
    soft_cap: float | None
    checkpoint_name: str | None
    interpret: Any

    def settings(self, block_q: int | None, block_kv: int | None) -> Settings:
        assert block_q is not None and block_kv is not None
        return Settings(
            block_q,
            block_kv,
            self.mask_value,
            soft_cap=self.soft_cap,
            interpret=self.interpret,
        )


@register_pytree_node_class
class SplashAttentionKernel:
    """A function ``(q, k, v, segment_ids=None, sinks=None)``; made by `make_splash_mha`.

    It is a pytree of the blocks of its mask, so that it can be passed to `shard_map`.

    Args:
      forward: the mask, cut into blocks for the forward kernel.
      queries: the mask, cut into blocks for the kernel that computes the cotangents of queries; or
        None.
      keys: the mask, cut into blocks for the kernel that computes the cotangents of keys; or None.
      options: the options of the computation.
    """

    def __init__(
        self,
        forward: MaskBlocks,
        queries: MaskBlocks | None,
        keys: MaskBlocks | None,
        options: _Options,
    ) -> None:
        self.forward = forward
        self.queries = queries
        self.keys = keys
        self.options = options

    def __call__(self, q: Any, k: Any, v: Any, segment_ids: Any = None, sinks: Any = None) -> Any:
        """Computes attention.

        Args:
          q: queries, [heads, queries, head_dim]. They are not scaled.
          k: keys, [heads of keys, keys, head_dim], or [keys, head_dim] if all heads share them.
          v: values, [heads of keys, keys, value_dim], or without heads if ``k`` has none.
          segment_ids: `SegmentIds`, or None.
          sinks: None, or one score for each head: the score of an additional key without value, to
            which all queries of the head attend.

        Returns:
          An array of shape [heads, queries, value_dim]. With ``save_residuals``, a pair of
          this array and ``(logarithms of sums,)``, of shape [heads, queries].

        Raises:
          ValueError: the shapes are not consistent, or do not match the shape of the mask.
        """
        _check_operands(q, k, v, segment_ids, sinks, self)
        if segment_ids is not None:
            segment_ids = SegmentIds(*segment_ids)
        masks = (self.forward, self.queries, self.keys)
        if self.options.save_residuals:
            out, logarithm = _forward(self.options, masks, q, k, v, segment_ids, sinks)
            return out, (logarithm[..., 0],)
        return _attention(self.options, masks, q, k, v, segment_ids, sinks)

    def manual_sharding_spec(self, sharding: Any) -> SplashAttentionKernel:
        """Returns the partition specs of the kernel for `shard_map`.

        Args:
          sharding: a `NamedSharding` whose spec names the mesh axes over which heads and queries
            are split.

        Raises:
          ValueError: the mask was made for another number of shards.
        """
        spec = (*sharding.spec, None, None)[:2]
        heads, queries = spec

        def of(blocks: MaskBlocks | None, by_keys: bool) -> MaskBlocks | None:
            if blocks is None:
                return None
            split = (
                PartitionSpec(heads, None, queries) if by_keys else PartitionSpec(heads, queries)
            )
            for size, axes in zip(blocks.kinds.shape, split, strict=False):
                names = axes if isinstance(axes, tuple) else (axes,) if axes is not None else ()
                shards = int(np.prod([sharding.mesh.shape[name] for name in names]))
                if size % shards:
                    raise ValueError(
                        f"the kernel's mask, of {blocks.kinds.shape} blocks, cannot be split over "
                        f"{split}; make it with head_shards and q_seq_shards"
                    )
            return MaskBlocks(split, split, split, PartitionSpec())

        return SplashAttentionKernel(
            of(self.forward, False),  # pyright: ignore[reportArgumentType] - specs for arrays
            of(self.queries, False),
            of(self.keys, True),
            self.options,
        )

    def tree_flatten(self) -> tuple[tuple, _Options]:
        """Returns the blocks of masks as leaves, and the options as structure."""
        return (self.forward, self.queries, self.keys), self.options

    @classmethod
    def tree_unflatten(cls, options: Any, children: Any) -> SplashAttentionKernel:
        """Returns the kernel from leaves and structure."""
        forward, queries, keys = children
        return cls(forward, queries, keys, options)


def _check_operands(q: Any, k: Any, v: Any, segments: Any, sinks: Any, self: Any) -> None:
    is_mqa, blocks = self.options.is_mqa, self.options.block_sizes
    rank = 2 if is_mqa else 3
    if q.ndim != 3 or k.ndim != rank or v.ndim != rank:
        raise ValueError(
            f"attention takes q of rank 3 and k and v of rank {rank}, got shapes {q.shape}, "
            f"{k.shape} and {v.shape}; map over further dimensions with vmap"
        )
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"queries and keys need one size, got {q.shape[-1]} and {k.shape[-1]}")
    if k.shape[:-1] != v.shape[:-1]:
        raise ValueError(f"each key needs a value, got shapes {k.shape} and {v.shape}")
    if not is_mqa and q.shape[0] % k.shape[0]:
        raise ValueError(f"{k.shape[0]} heads of keys cannot serve {q.shape[0]} heads of queries")
    kinds = self.forward.kinds.shape
    expected = (kinds[1] * blocks.block_q, kinds[2] * blocks.block_kv)
    if (q.shape[1], k.shape[-2]) != expected or q.shape[0] % kinds[0]:
        raise ValueError(
            f"the mask is for {expected[0]} queries and {expected[1]} keys of a multiple of "
            f"{kinds[0]} heads, got q of shape {q.shape} and k of shape {k.shape}"
        )
    if segments is not None:
        shapes = [np.shape(segment) for segment in segments]
        if shapes != [(q.shape[1],), (k.shape[-2],)]:
            raise ValueError(
                f"segment_ids need shapes {(q.shape[1],)} and {(k.shape[-2],)}, got {shapes}"
            )
    if sinks is not None and np.shape(sinks) != (q.shape[0],):
        raise ValueError(f"sinks need one score a head, got shape {np.shape(sinks)}")


def _operands(q: Any, k: Any, v: Any, segments: SegmentIds | None) -> Operands:
    if k.ndim == 2:
        k, v = k[None], v[None]
    if segments is None:
        return Operands(q, k, v)
    return Operands(q, k, v, segments.q[:, None], segments.kv[None, :])


def _forward(
    options: _Options, masks: Any, q: Any, k: Any, v: Any, segments: Any, sinks: Any
) -> tuple[Any, Any]:
    sizes = options.block_sizes
    out, logarithm = kernels.forward(
        _operands(q, k, v, segments),
        masks[0],
        options.settings(sizes.block_q, sizes.block_kv),
        None if sinks is None else sinks[:, None, None],
    )
    if options.checkpoint_name is not None:
        out = checkpoint_name(out, options.checkpoint_name)
        logarithm = checkpoint_name(logarithm, options.checkpoint_name)
    return out, logarithm


@functools.partial(custom_vjp, nondiff_argnums=(0,))
def _attention(
    options: _Options, masks: Any, q: Any, k: Any, v: Any, segments: Any, sinks: Any
) -> Any:
    return _forward(options, masks, q, k, v, segments, sinks)[0]


def _attention_fwd(
    options: _Options, masks: Any, q: Any, k: Any, v: Any, segments: Any, sinks: Any
) -> tuple[Any, Any]:
    if not options.block_sizes.has_backward_blocks:
        raise ValueError(
            "this kernel cannot be differentiated: make it with block sizes for the backward pass"
        )
    out, logarithm = _forward(options, masks, q, k, v, segments, sinks)
    return out, (masks, q, k, v, segments, sinks, out, logarithm)


def _attention_bwd(options: _Options, residuals: Any, cotangent: Any) -> tuple:
    masks, q, k, v, segments, sinks, out, logarithm = residuals
    sizes = options.block_sizes
    operands = _operands(q, k, v, segments)
    mean = jnp.sum(out.astype(np.float32) * cotangent.astype(np.float32), axis=-1, keepdims=True)
    # One kernel for all cotangents would only change scheduling. So there are two kernels even with
    # `use_fused_bwd_kernel`. Both then use the block sizes for the cotangents of keys and values.
    fused = sizes.use_fused_bwd_kernel
    block_q = sizes.block_q_dkv if fused else sizes.block_q_dq
    block_kv = sizes.block_kv_dkv if fused else sizes.block_kv_dq
    of_q, _ = kernels.backward_queries(
        operands, masks[1], options.settings(block_q, block_kv), logarithm, cotangent, mean
    )
    settings = options.settings(sizes.block_q_dkv, sizes.block_kv_dkv)
    of_k, of_v = kernels.backward_keys(operands, masks[2], settings, logarithm, cotangent, mean)
    of_k, of_v = (_sum_of_groups(gradient, like) for gradient, like in ((of_k, k), (of_v, v)))
    of_sinks = None
    if sinks is not None:
        shares = jnp.exp(sinks.astype(np.float32)[:, None] - logarithm[..., 0])
        of_sinks = -jnp.sum(shares * mean[..., 0], axis=1).astype(sinks.dtype)
    return None, of_q, of_k, of_v, None, of_sinks


_attention.defvjp(_attention_fwd, _attention_bwd)


def _sum_of_groups(x: Any, like: Any) -> Any:
    """Sums over the heads of queries that share a head of keys."""
    heads = like.shape[0] if like.ndim == 3 else 1
    total = jnp.sum(x.reshape(heads, -1, *x.shape[1:]), axis=1, dtype=np.float32)
    return total.reshape(like.shape).astype(like.dtype)


def _make_splash(
    mask: Any,
    *,
    block_sizes: BlockSizes | None = None,
    is_mqa: bool,
    save_residuals: bool = False,
    mask_value: float = DEFAULT_MASK_VALUE,
    attn_logits_soft_cap: float | None = None,
    downcast_smem_data: bool = True,
    head_shards: int,
    q_seq_shards: int,
    residual_checkpoint_name: str | None = None,
    interpret: Any = False,
) -> SplashAttentionKernel:
    """Makes a function that computes attention with a mask.

    Args:
      mask: a `MultiHeadMask`, or an array of booleans of shape [heads, queries, keys], which may be
        traced.
      block_sizes: the numbers of queries and keys that a program processes; by default 128.
      is_mqa: whether all heads share keys and values, which then have no dimension of heads.
      save_residuals: whether the logarithms of sums are also returned. The kernel is then not
        differentiable.
      mask_value: the score of masked pairs of a query and a key.
      attn_logits_soft_cap: the bound of the scores, which a hyperbolic tangent enforces; or None.
      downcast_smem_data: ignored; indices of blocks have 32 bits.
      head_shards: the number of devices over which heads are split.
      q_seq_shards: the number of devices over which queries are split.
      residual_checkpoint_name: the name of the result in policies of `checkpoint`.
      interpret: as in `pallas_call`.

    Returns:
      A `SplashAttentionKernel`.

    Raises:
      ValueError: the mask has no heads, or its shape is not a multiple of blocks and shards.

    Example:
      >>> import numpy as np
      >>> mask = MultiHeadMask([NumpyMask(np.tri(128, dtype=bool))])
      >>> attention = make_splash_mha_single_device(mask, interpret=True)
      >>> x = np.ones((1, 128, 64), np.float32)
      >>> attention(x, x, x).shape
      (1, 128, 64)
    """
    if len(np.shape(mask) if not isinstance(mask, Mask) else mask.shape) != 3:
        raise ValueError(f"the mask needs heads, queries and keys, got shape {mask.shape}")
    sizes = BlockSizes.get_default() if block_sizes is None else block_sizes
    if isinstance(mask, np.ndarray):
        mask = MultiHeadMask([NumpyMask(head) for head in mask])
    if mask.shape[0] % head_shards:
        raise ValueError(f"{mask.shape[0]} heads cannot be split over {head_shards} devices")
    if (mask.shape[1] // sizes.block_q) % q_seq_shards:
        raise ValueError(
            f"{mask.shape[1]} queries in blocks of {sizes.block_q} cannot be split over "
            f"{q_seq_shards} devices"
        )
    queries = keys = None
    cut = functools.partial(mask_blocks, mask, shards=head_shards)
    if sizes.block_q_dkv is not None and sizes.block_kv_dkv is not None:
        keys = cut(sizes.block_q_dkv, sizes.block_kv_dkv, by_keys=True)
        block_q, block_kv = sizes.block_q_dq, sizes.block_kv_dq
        queries = cut(block_q or sizes.block_q_dkv, block_kv or sizes.block_kv_dkv)
    options = _Options(
        sizes,
        is_mqa,
        save_residuals,
        mask_value,
        attn_logits_soft_cap,
        residual_checkpoint_name,
        interpret,
    )
    return SplashAttentionKernel(cut(sizes.block_q, sizes.block_kv), queries, keys, options)


make_splash_mha = functools.partial(_make_splash, is_mqa=False)
make_splash_mqa = functools.partial(_make_splash, is_mqa=True)
make_splash_mha_single_device = functools.partial(make_splash_mha, head_shards=1, q_seq_shards=1)
make_splash_mqa_single_device = functools.partial(make_splash_mqa, head_shards=1, q_seq_shards=1)


def attention_reference(
    mask: Any,
    q: Any,
    k: Any,
    v: Any,
    segment_ids: SegmentIds | None,
    sinks: Any = None,
    *,
    mask_value: float = DEFAULT_MASK_VALUE,
    save_residuals: bool = False,
    custom_type: str = "flash",
    attn_logits_soft_cap: float | None = None,
) -> Any:
    """Computes attention of one head, by its definition.

    Args:
      mask: booleans of shape [queries, keys].
      q: queries, [queries, head_dim].
      k: keys, [keys, head_dim].
      v: values, [keys, value_dim].
      segment_ids: as in `SplashAttentionKernel`.
      sinks: the score of a key without value, or None.
      mask_value: the score of masked pairs of a query and a key.
      save_residuals: whether the logarithms of sums are also returned.
      custom_type: ignored; the derivatives are those of the operations.
      attn_logits_soft_cap: the bound of the scores, which a hyperbolic tangent enforces; or None.

    Returns:
      An array of shape [queries, value_dim]; with ``save_residuals`` a pair of the array and
      ``(logarithms of sums,)``.

    Example:
      >>> import numpy as np
      >>> x = np.eye(2, dtype=np.float32)
      >>> attention_reference(np.eye(2, dtype=bool), x, x, x, None)
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    scores = lax.dot_general(q, k, (((1,), (1,)), ((), ())), preferred_element_type=np.float32)
    if attn_logits_soft_cap is not None:
        scores = attn_logits_soft_cap * jnp.tanh(scores / attn_logits_soft_cap)
    shown = jnp.asarray(mask)
    if segment_ids is not None:
        shown = shown & (segment_ids[0][:, None] == segment_ids[1][None, :])
    scores = jnp.where(shown, scores, mask_value)
    maximum = jnp.max(scores, axis=1, keepdims=True)
    if sinks is not None:
        maximum = jnp.maximum(maximum, sinks)
    weights = jnp.exp(scores - maximum)
    total = jnp.sum(weights, axis=1, keepdims=True)
    if sinks is not None:
        total = total + jnp.exp(sinks - maximum)
    out = lax.dot_general(weights / total, v.astype(np.float32), (((1,), (0,)), ((), ())))
    out = out.astype(q.dtype)
    return (out, ((maximum + jnp.log(total))[:, 0],)) if save_residuals else out


def make_attention_reference(
    mask: Any, is_mqa: bool, backward_impl: str = "vanilla", **params: Any
) -> Callable[..., Any]:
    """Makes a function ``(q, k, v, segment_ids=None, sinks=None)`` from `attention_reference`.

    Args:
      mask: a mask of all heads: `Mask` or array, [heads, queries, keys].
      is_mqa: whether keys and values have no dimension of heads.
      backward_impl: ignored; the derivatives are those of the operations.
      **params: further arguments of `attention_reference`.

    Returns:
      The function; its result has the shape [heads, queries, value_dim].

    Example:
      >>> import numpy as np
      >>> x = np.ones((1, 2, 4), np.float32)
      >>> make_attention_reference(np.ones((1, 2, 2), bool), is_mqa=False)(x, x, x).shape
      (1, 2, 4)
    """
    array = mask[:, :, :] if isinstance(mask, Mask) else mask

    def attention(q: Any, k: Any, v: Any, segment_ids: Any = None, sinks: Any = None) -> Any:
        if not is_mqa and q.shape[0] != k.shape[0]:
            k, v = (jnp.repeat(array, q.shape[0] // k.shape[0], axis=0) for array in (k, v))
        of_head = functools.partial(attention_reference, **params)
        keys = None if is_mqa else 0
        axes = (0, 0, keys, keys, None, None if sinks is None else 0)
        return vmap(of_head, in_axes=axes)(array, q, k, v, segment_ids, sinks)

    return attention


make_masked_mha_reference = functools.partial(make_attention_reference, is_mqa=False)
make_masked_mqa_reference = functools.partial(make_attention_reference, is_mqa=True)
