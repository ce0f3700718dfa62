# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention, forward and backward, without storing the matrix of all weights.

A program processes a block of queries and loops over the blocks of keys. It keeps the running
maximum of the scores and the running sum of exponentials, and rescales its accumulators when the
maximum grows (M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", 2018; T.
Dao et al., "FlashAttention", 2022). The backward pass recomputes the weights from the logarithms of
the sums of exponentials. It does so once for the cotangent of queries, and once for the cotangents
of keys and values.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as jnp
from olympus_autodiff import custom_vjp, vjp
from olympus_ir import ShapeDtypeStruct, lax
from olympus_ir.programs.jit import jit
from olympus_pallas import BlockSpec, cdiv, ds, next_power_of_2, pallas_call, program_id
from olympus_pallas.triton import CompilerParams

__all__ = ["BlockSizes", "mha", "mha_reference", "segment_mask"]

_NEVER = -0.7 * float(np.finfo(np.float32).max)  # the score of masked keys
_LOG2_E = math.log2(math.e)  # processors compute exponentials to base 2
_MOST_SCORES_OF_FOUR_WARPS = 128 * 64


@dataclasses.dataclass(frozen=True)
class BlockSizes:
    """Numbers of queries and keys in the blocks of each kernel.

    Args:
      block_q: queries per program of the forward kernel.
      block_k: keys per step of the forward kernel.
      block_q_dkv: queries per step of the kernel for the cotangents of keys and values.
      block_kv_dkv: keys per program of the kernel for the cotangents of keys and values.
      block_q_dq: queries per program of the kernel for the cotangents of queries.
      block_kv_dq: keys per step of the kernel for the cotangents of queries.
    """

    block_q: int
    block_k: int
    block_q_dkv: int | None = None
    block_kv_dkv: int | None = None
    block_q_dq: int | None = None
    block_kv_dq: int | None = None

    @classmethod
    def get_default(cls) -> BlockSizes:
        """Returns sizes for heads of usual dimensions."""
        return cls(128, 128, 32, 32, 32, 32)

    @property
    def has_backward_blocks(self) -> bool:
        """Returns whether the sizes of the backward pass are given."""
        sizes = (self.block_q_dkv, self.block_kv_dkv, self.block_q_dq, self.block_kv_dq)
        return all(size is not None for size in sizes)


def segment_mask(q_segment_ids: Any, kv_segment_ids: Any) -> Any:
    """Returns the mask that lets queries attend to the keys of their own segment.

    Args:
      q_segment_ids: the segment ids of the queries, along the last dimension.
      kv_segment_ids: the segment ids of the keys, along the last dimension.

    Returns:
      A boolean array of shape (..., queries, keys).
    """
    return jnp.equal(q_segment_ids[..., :, None], kv_segment_ids[..., None, :])


def mha_reference(
    q: Any, k: Any, v: Any, segment_ids: Any, sm_scale: float = 1.0, causal: bool = False
) -> Any:
    """Computes attention by array operations, for comparison, with the arguments of `mha`."""
    scores = jnp.einsum(
        "bqhd,bkhd->bhqk", q, k, preferred_element_type=np.dtype(np.float32)
    ) * np.float32(sm_scale)
    seen = jnp.ones(scores.shape[-2:], bool)
    if causal:
        seen = jnp.tril(seen)
    if segment_ids is not None:
        seen = seen & segment_mask(segment_ids, segment_ids)[:, None]
    scores = jnp.where(seen, scores, _NEVER)
    weights = jnp.exp(scores - jnp.max(scores, axis=-1, keepdims=True))
    weights = (weights / jnp.sum(weights, axis=-1, keepdims=True)).astype(v.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)


class _Rows(NamedTuple):
    """Rows (queries or keys) that a kernel computes, divided among its programs.

    Args:
      number: the number of rows.
      size: the number of rows per program.
      step: the number of keys (if the rows are queries) or queries (if the rows are keys) per step.
    """

    number: int
    size: int
    step: int


class _Attention:
    """The kernels for queries, keys and values of given shapes."""

    def __init__(self, q: Any, k: Any, options: _Options, has_segments: bool) -> None:
        self.options = options
        self.has_segments = has_segments
        self.batch, self.num_queries, self.heads, self.depth = q.shape
        self.num_keys = k.shape[1]
        self.width = next_power_of_2(self.depth)

    # ---- blocks: arrays are [batch, length, heads, depth], sums [batch, heads, length] ----

    def own_rows(self, size: int) -> BlockSpec:
        """Returns the block specification of the rows that a program computes."""
        return BlockSpec((None, size, None, self.width), lambda i, b, h: (b, i, h, 0))

    def all_rows(self, length: int, size: int) -> BlockSpec:
        """Returns the block specification of all rows; each step reads some of them."""
        whole = cdiv(length, size) * size
        return BlockSpec((None, whole, None, self.width), lambda i, b, h: (b, 0, h, 0))

    def own_sums(self, size: int) -> BlockSpec:
        return BlockSpec((None, None, size), lambda i, b, h: (b, h, i))

    def all_sums(self, length: int, size: int) -> BlockSpec:
        whole = cdiv(length, size) * size
        return BlockSpec((None, None, whole), lambda i, b, h: (b, h, 0))

    def segments(self, *sizes: int) -> list[Any]:
        """Returns the block specifications of segments, padded to whole steps of every size."""
        if not self.has_segments:
            return [None]
        size = max(sizes)
        whole = cdiv(max(self.num_queries, self.num_keys), size) * size
        return [BlockSpec((None, whole), lambda i, b, h: (b, 0))]

    def call(self, kernel: Any, rows: _Rows, in_specs: Any, outputs: Any, *args: Any) -> Any:
        """Runs a kernel with one program for each block of rows, example and head."""
        options = self.options
        # A step keeps its scores in registers. For large blocks, four warps have too few registers.
        is_large = self.depth > 64 or rows.size * rows.step > _MOST_SCORES_OF_FOUR_WARPS
        return pallas_call(
            kernel,
            tuple(output for output, _ in outputs),
            grid=options.grid or (cdiv(rows.number, rows.size), self.batch, self.heads),
            in_specs=in_specs,
            out_specs=tuple(spec for _, spec in outputs),
            compiler_params=CompilerParams(
                num_warps=options.num_warps or (8 if is_large else 4),
                num_stages=options.num_stages,
            ),
            interpret=options.interpret,
            debug=options.debug,
        )(*args)

    # ---- computations inside of kernels ----

    def rows(self, ref: Any, start: Any, size: int, length: int) -> Any:
        """Loads the rows of a block, with zeros beyond the end of the array."""
        part = ref[...] if start is None else ref[ds(start, size), :]
        if length % size == 0 and self.width == self.depth:
            return part  # without a mask, a product can read the loaded block in place
        positions = lax.broadcasted_iota(np.int32, (size, self.width), 0)
        first = program_id(0) * size if start is None else start
        inside = (positions + first < length) & (
            lax.broadcasted_iota(np.int32, (size, self.width), 1) < self.depth
        )
        return jnp.where(inside, part, jnp.zeros((), part.dtype))

    def numbers(self, ref: Any, start: Any, size: int) -> Any:
        """Loads one number for each query of a block, with zeros beyond the end of the array."""
        part = ref[...] if start is None else ref[ds(start, size)]
        if self.num_queries % size == 0:
            return part
        first = program_id(0) * size if start is None else start
        return jnp.where(jnp.arange(size) + first < self.num_queries, part, 0.0)

    def scores(self, q: Any, k: Any) -> Any:
        """Computes the scaled products of queries and keys, divided by log(2).

        Two to the power of a result is the exponential of the scaled product.
        """
        return dot(q, k.T) * np.float32(self.options.sm_scale * _LOG2_E)

    def seen(self, shape: tuple[int, int], q_start: Any, k_start: Any, segment_ref: Any) -> Any:
        """Returns the attention mask of a block of queries and a block of keys."""
        keys = lax.broadcasted_iota(np.int32, shape, 1) + k_start
        seen = keys < self.num_keys
        if self.options.causal:
            queries = lax.broadcasted_iota(np.int32, shape, 0) + q_start
            seen = seen & (queries >= keys)
        if self.has_segments:
            of_queries = segment_ref[ds(q_start, shape[0])]
            seen = seen & segment_mask(of_queries, segment_ref[ds(k_start, shape[1])])
        return seen

    def over_keys(self, step: Any, q_start: Any, block_q: int, block_k: int, carry: Any) -> Any:
        """Runs a loop over blocks of keys: first the unmasked blocks, then the masked blocks."""
        last: Any = cdiv(self.num_keys, block_k)
        complete: Any = 0 if self.has_segments else self.num_keys // block_k
        if self.options.causal:
            last = jnp.minimum(last, cdiv(q_start + block_q, block_k))
            if not self.has_segments:
                complete = jnp.minimum(complete, lax.div(q_start + 1, np.int32(block_k)))
        carry = loop(0, complete, functools.partial(step, masked=False), carry)
        return loop(complete, last, functools.partial(step, masked=True), carry)

    def over_queries(self, step: Any, k_start: Any, block_q: int, block_k: int, carry: Any) -> Any:
        """Runs a loop over blocks of queries: first the masked blocks, then the unmasked blocks."""
        last: Any = cdiv(self.num_queries, block_q)
        first: Any = 0
        complete: Any = last if self.has_segments else 0
        if self.options.causal:
            first = jnp.minimum(last, lax.div(k_start, np.int32(block_q)))
            if not self.has_segments:
                # All later queries attend to all keys of the block.
                complete = jnp.minimum(last, cdiv(k_start + block_k - 1, block_q))
        carry = loop(first, complete, functools.partial(step, masked=True), carry)
        return loop(complete, last, functools.partial(step, masked=False), carry)

    def forward(self, q: Any, k: Any, v: Any, segment_ids: Any) -> tuple[Any, Any]:
        """Returns the result, and the logarithms of the sums of exponentials."""
        sizes = self.options.block_sizes
        block_q, block_k = sizes.block_q, sizes.block_k

        def kernel(q_ref, k_ref, v_ref, segment_ref, o_ref, sums_ref):
            q_start = program_id(0) * block_q
            q = self.rows(q_ref, None, block_q, self.num_queries)

            def step(number, carry, masked):
                total, largest, sums = carry
                k_start = number * block_k
                k = self.rows(k_ref, k_start, block_k, self.num_keys)
                v = self.rows(v_ref, k_start, block_k, self.num_keys)
                scores = self.scores(q, k)
                seen: Any = None
                if masked:
                    seen = self.seen(scores.shape, q_start, k_start, segment_ref)
                    scores = jnp.where(seen, scores, _NEVER)
                higher = jnp.maximum(largest, jnp.max(scores, axis=1))
                weights = jnp.exp2(scores - higher[:, None])
                if self.has_segments:  # a query may have attended to no key so far
                    weights = jnp.where(seen, weights, 0.0)
                shrunk = jnp.exp2(largest - higher)
                total = total * shrunk[:, None] + dot(weights.astype(v.dtype), v)
                return total, higher, sums * shrunk + jnp.sum(weights, axis=1)

            start = (
                jnp.zeros((block_q, self.width), np.float32),
                jnp.full(block_q, _NEVER, np.float32),
                jnp.zeros(block_q, np.float32),
            )
            total, largest, sums = self.over_keys(step, q_start, block_q, block_k, start)
            sums = jnp.where(sums == 0.0, 1.0, sums)
            o_ref[...] = (total / sums[:, None]).astype(o_ref.dtype)
            sums_ref[...] = largest / np.float32(_LOG2_E) + jnp.log(sums)

        sums = ShapeDtypeStruct((self.batch, self.heads, self.num_queries), np.dtype(np.float32))
        keys = self.all_rows(self.num_keys, block_k)
        return self.call(
            kernel,
            _Rows(self.num_queries, block_q, block_k),
            [self.own_rows(block_q), keys, keys, *self.segments(block_q, block_k)],
            [
                (ShapeDtypeStruct(q.shape, q.dtype), self.own_rows(block_q)),
                (sums, self.own_sums(block_q)),
            ],
            *(q, k, v, segment_ids),
        )

    def change(self, q: Any, k: Any, v: Any, do: Any, sums: Any, along: Any, seen: Any) -> Any:
        """Returns the weights, and the cotangents of the scores after scaling."""
        weights = jnp.exp2(self.scores(q, k) - sums[:, None])
        if seen is not None:
            weights = jnp.where(seen, weights, 0.0)
        return weights, weights * (dot(do, v.T) - along[:, None])

    def backward_queries(self, q, k, v, segment_ids, do, sums, along) -> Any:
        """Returns the cotangent of the queries."""
        sizes = self.options.block_sizes
        block_q, block_k = sizes.block_q_dq, sizes.block_kv_dq
        assert block_q is not None and block_k is not None

        def kernel(q_ref, k_ref, v_ref, segment_ref, do_ref, sums_ref, along_ref, dq_ref):
            q_start = program_id(0) * block_q
            q = self.rows(q_ref, None, block_q, self.num_queries)
            do = self.rows(do_ref, None, block_q, self.num_queries)
            sums = self.numbers(sums_ref, None, block_q) * np.float32(_LOG2_E)
            along = self.numbers(along_ref, None, block_q)

            def step(number, dq, masked):
                k_start = number * block_k
                k = self.rows(k_ref, k_start, block_k, self.num_keys)
                v = self.rows(v_ref, k_start, block_k, self.num_keys)
                shape = (block_q, block_k)
                seen = self.seen(shape, q_start, k_start, segment_ref) if masked else None
                _, changed = self.change(q, k, v, do, sums, along, seen)
                return dq + dot(changed.astype(k.dtype), k)

            start = jnp.zeros((block_q, self.width), np.float32)
            dq = self.over_keys(step, q_start, block_q, block_k, start)
            dq_ref[...] = (dq * np.float32(self.options.sm_scale)).astype(dq_ref.dtype)

        rows, numbers = self.own_rows(block_q), self.own_sums(block_q)
        keys = self.all_rows(self.num_keys, block_k)
        segments = self.segments(block_q, block_k)
        (dq,) = self.call(
            kernel,
            _Rows(self.num_queries, block_q, block_k),
            [rows, keys, keys, *segments, rows, numbers, numbers],
            [(ShapeDtypeStruct(q.shape, q.dtype), rows)],
            *(q, k, v, segment_ids, do, sums, along),
        )
        return dq

    def backward_keys(self, q, k, v, segment_ids, do, sums, along) -> Any:
        """Returns the cotangents of keys and values."""
        sizes = self.options.block_sizes
        block_q, block_k = sizes.block_q_dkv, sizes.block_kv_dkv
        assert block_q is not None and block_k is not None

        def kernel(q_ref, k_ref, v_ref, segment_ref, do_ref, sums_ref, along_ref, dk_ref, dv_ref):
            k_start = program_id(0) * block_k
            k = self.rows(k_ref, None, block_k, self.num_keys)
            v = self.rows(v_ref, None, block_k, self.num_keys)

            def step(number, carry, masked):
                dk, dv = carry
                q_start = number * block_q
                q = self.rows(q_ref, q_start, block_q, self.num_queries)
                do = self.rows(do_ref, q_start, block_q, self.num_queries)
                sums = self.numbers(sums_ref, q_start, block_q) * np.float32(_LOG2_E)
                along = self.numbers(along_ref, q_start, block_q)
                shape = (block_q, block_k)
                seen = self.seen(shape, q_start, k_start, segment_ref) if masked else None
                weights, changed = self.change(q, k, v, do, sums, along, seen)
                dk = dk + dot(changed.T.astype(q.dtype), q)
                return dk, dv + dot(weights.T.astype(do.dtype), do)

            zeros = jnp.zeros((block_k, self.width), np.float32)
            dk, dv = self.over_queries(step, k_start, block_q, block_k, (zeros, zeros))
            dk_ref[...] = (dk * np.float32(self.options.sm_scale)).astype(dk_ref.dtype)
            dv_ref[...] = dv.astype(dv_ref.dtype)

        rows, numbers = self.own_rows(block_k), self.all_sums(self.num_queries, block_q)
        queries = self.all_rows(self.num_queries, block_q)
        segments = self.segments(block_q, block_k)
        return self.call(
            kernel,
            _Rows(self.num_keys, block_k, block_q),
            [queries, rows, rows, *segments, queries, numbers, numbers],
            [(ShapeDtypeStruct(operand.shape, operand.dtype), rows) for operand in (k, v)],
            *(q, k, v, segment_ids, do, sums, along),
        )


def loop(first: Any, last: Any, step: Any, carry: Any) -> Any:
    """Runs a loop, unless it is known to have no steps."""
    if isinstance(first, int) and isinstance(last, int) and first >= last:
        return carry
    return lax.fori_loop(first, last, step, carry)


def dot(x: Any, y: Any) -> Any:
    """Multiplies matrices, with sums in single precision."""
    return lax.dot(x, y, preferred_element_type=np.dtype(np.float32))


@dataclasses.dataclass(frozen=True)
class _Options:
    sm_scale: float
    causal: bool
    block_sizes: BlockSizes
    backward_pass_impl: str
    num_warps: int | None
    num_stages: int
    grid: tuple[int, ...] | None
    interpret: bool
    debug: bool


def _forward(q: Any, k: Any, v: Any, segment_ids: Any, options: _Options) -> tuple[Any, Any]:
    kernels = _Attention(q, k, options, segment_ids is not None)
    result, sums = kernels.forward(q, k, v, segment_ids)
    return result, (q, k, v, segment_ids, result, sums)


def _backward(options: _Options, kept: Sequence[Any], cotangent: Any) -> Any:
    q, k, v, segment_ids, result, sums = kept
    if options.backward_pass_impl == "xla":
        reference = functools.partial(
            mha_reference,
            segment_ids=segment_ids,
            sm_scale=options.sm_scale,
            causal=options.causal,
        )
        return *vjp(reference, q, k, v)[1](cotangent), None
    if options.backward_pass_impl != "triton":
        raise ValueError(
            f"backward_pass_impl must be 'triton' or 'xla', got {options.backward_pass_impl!r}"
        )
    if not options.block_sizes.has_backward_blocks:
        raise ValueError(
            "Backward block sizes must all be set: block_q_dkv, block_kv_dkv, block_q_dq and "
            f"block_kv_dq, got {options.block_sizes}"
        )
    options = dataclasses.replace(options, grid=None)
    along = jnp.einsum("bqhd,bqhd->bhq", cotangent.astype(np.float32), result.astype(np.float32))
    kernels = _Attention(q, k, options, segment_ids is not None)
    operands = (q, k, v, segment_ids, cotangent, sums, along)
    return kernels.backward_queries(*operands), *kernels.backward_keys(*operands), None


@functools.partial(custom_vjp, nondiff_argnums=(4,))
def _attention(q: Any, k: Any, v: Any, segment_ids: Any, options: _Options) -> Any:
    return _forward(q, k, v, segment_ids, options)[0]


_attention.defvjp(_forward, _backward)


def _mha(
    q: Any,
    k: Any,
    v: Any,
    segment_ids: Any,
    sm_scale: float = 1.0,
    causal: bool = False,
    block_sizes: BlockSizes = BlockSizes.get_default(),  # noqa: B008 - it is frozen
    backward_pass_impl: str = "triton",
    num_warps: int | None = None,
    num_stages: int = 2,
    grid: tuple[int, ...] | None = None,
    interpret: bool = False,
    debug: bool = False,
    return_residuals: bool = False,
) -> Any:
    """Computes multi-head attention: sums of values, weighted by the softmax of scores.

    Args:
      q: queries, of shape ``(batch, length, heads, depth)``.
      k: keys, of the shape of ``q`` except for the length.
      v: values, of the shape of ``k``.
      segment_ids: the segments, of shape ``(batch, length)``. Queries attend to the keys of their
        own segment, or to all keys if None.
      sm_scale: the factor by which the products of queries and keys are multiplied.
      causal: whether queries attend only to keys that do not come after them.
      block_sizes: the numbers of queries and keys that a program processes at a time.
      backward_pass_impl: whether the backward pass consists of kernels ("triton") or of array
        operations ("xla").
      num_warps: the number of warps of a program.
      num_stages: the number of pipelined steps of a loop.
      grid: the grid of the forward pass; by default it follows from shapes and block sizes.
      interpret: whether the kernels are run as array operations.
      debug: whether to print the kernels.
      return_residuals: whether to also return the logarithms of the sums of exponentials, an array
        of shape ``(batch, heads, length)``.

    Returns:
      An array of the shape and dtype of ``q``. With ``return_residuals``, a pair of this array and
      the logarithms.

    Example:
      >>> x = np.ones((1, 4, 2, 16), np.float32)
      >>> mha(x, x, 2 * x, None, interpret=True)[0, 0, 0, 0]
      Array(2., dtype=float32)
    """
    limits = (q.shape[1], k.shape[1])

    def fitting(size: int | None, length: int) -> int | None:
        return None if size is None else min(size, next_power_of_2(length))

    sizes = BlockSizes(
        *(
            fitting(size, limits[index % 2])  # type: ignore[arg-type]
            for index, size in enumerate(dataclasses.astuple(block_sizes))
        )
    )
    options = _Options(
        sm_scale,
        causal,
        sizes,
        backward_pass_impl,
        num_warps,
        num_stages,
        grid,
        interpret,
        debug,
    )
    if return_residuals:
        result, kept = _forward(q, k, v, segment_ids, options)
        return result, kept[-1]
    return _attention(q, k, v, segment_ids, options)


mha = jit(
    _mha,
    static_argnames=(
        *("sm_scale", "causal", "block_sizes", "backward_pass_impl", "num_warps", "num_stages"),
        *("grid", "interpret", "debug", "return_residuals"),
    ),
)
