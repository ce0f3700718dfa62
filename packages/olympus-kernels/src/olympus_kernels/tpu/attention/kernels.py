# SPDX-License-Identifier: Apache-2.0
"""Kernels of attention by blocks, which never hold the scores of all keys in memory.

The forward kernel keeps for each query the running maximum, sum and weighted values of the keys
(Milakov and Gimelshein, 2018; Dao et al., "FlashAttention", 2022). The backward kernels recompute
the probabilities from the logsumexp of the scores. Blocks that the mask hides are neither
loaded nor computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as jnp
from olympus_ir import lax
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_pallas.calls.pallas_call import pallas_call
from olympus_pallas.grids.block_specs import BlockSpec
from olympus_pallas.grids.grid_specs import PrefetchScalarGridSpec
from olympus_pallas.grids.program_ids import num_programs, program_id
from olympus_pallas.memory.spaces import TpuMemorySpace
from olympus_pallas.operations.control import when
from olympus_pallas.tpu.parameters import CompilerParams

from .mask_blocks import FULL, NONE, MaskBlocks

__all__ = [
    "DEFAULT_MASK_VALUE",
    "Operands",
    "Settings",
    "backward_keys",
    "backward_queries",
    "forward",
]

DEFAULT_MASK_VALUE = -0.7 * float(np.finfo(np.float32).max)


class Operands(NamedTuple):
    """Operands of attention.

    Attributes:
      q: queries, [heads, queries, head_dim].
      k: keys, [heads of keys, keys, head_dim]. The heads of queries are divided equally, in order,
        among the heads of keys.
      v: values, [heads of keys, keys, value_dim].
      q_segments: segment ids of queries, [queries, 1], or None. Queries attend to the keys of
        their own segment.
      kv_segments: segment ids of keys, [1, keys], or None.
      bias: the array that is added to the products, [heads, queries, keys], or None.
    """

    q: Any
    k: Any
    v: Any
    q_segments: Any = None
    kv_segments: Any = None
    bias: Any = None


class Settings(NamedTuple):
    """Parameters of attention.

    Attributes:
      block_q: the number of queries that a program processes.
      block_kv: the number of keys that a program processes.
      mask_value: the score of masked pairs of a query and a key.
      scale: the factor of the products of queries and keys.
      soft_cap: the bound of the scores, which a hyperbolic tangent enforces; or None.
      interpret: as in `pallas_call`.
    """

    block_q: int
    block_kv: int
    mask_value: float = DEFAULT_MASK_VALUE
    scale: float = 1.0
    soft_cap: float | None = None
    interpret: Any = False


def _product(x: Any, y: Any, contracting: tuple[int, int]) -> Any:
    x_dim, y_dim = contracting
    return lax.dot_general(
        x, y, (((x_dim,), (y_dim,)), ((), ())), preferred_element_type=np.float32
    )


class _Program(NamedTuple):
    """References and indices of one program of a kernel.

    Attributes:
      kind: the part of the block that the mask admits: `NONE`, `PARTIAL` or `FULL`.
      is_first: whether the program is the first one of an outer block.
      is_last: whether the program is the last one of an outer block.
      operands: references to blocks of the operands.
      mask: reference to the block of the mask.
      inputs: references to further inputs.
      outputs: references to outputs.
      scratch: references to buffers that the programs of an outer block share.
    """

    kind: Any
    is_first: Any
    is_last: Any
    operands: Operands
    mask: Any
    inputs: list[Any]
    outputs: list[Any]
    scratch: list[Any]


def _scores(program: _Program, settings: Settings) -> tuple[Any, Any]:
    """Returns a masked block of scores, and its derivative with respect to the products."""
    refs = program.operands
    scores = _product(refs.q[...], refs.k[...], (1, 1))
    slope = settings.scale
    if settings.scale != 1.0:
        scores = scores * settings.scale
    if refs.bias is not None:
        scores = scores + refs.bias[...].astype(np.float32)
    if settings.soft_cap is not None:
        bent = jnp.tanh(scores / settings.soft_cap)
        scores = settings.soft_cap * bent
        slope = slope * (1.0 - bent * bent)
    shown = (program.mask[...].astype(np.int32) != 0) | (program.kind == FULL)
    if refs.q_segments is not None:
        shown = shown & (refs.q_segments[...] == refs.kv_segments[...])
    return jnp.where(shown, scores, settings.mask_value), jnp.where(shown, slope, 0.0)


class _Call:
    """A kernel on its grid of heads, outer and inner blocks."""

    def __init__(
        self, operands: Operands, mask: MaskBlocks, settings: Settings, by_keys: bool
    ) -> None:
        self.operands = operands
        self.mask = mask
        self.settings = settings
        self.by_keys = by_keys
        heads, queries, _ = operands.q.shape
        self.heads = heads
        counts = (queries // settings.block_q, operands.k.shape[1] // settings.block_kv)
        self.grid = (heads, *(counts[::-1] if by_keys else counts))

    def _mask_head(self, head: Any) -> Any:
        return head // (self.heads // self.mask.kinds.shape[0])

    def at_queries(self, head: Any, outer: Any, inner: Any, kinds: Any, inners: Any, _: Any) -> Any:
        """Returns the index of a program's block of queries.

        A program that is skipped has the block of the next program that computes something.
        """
        return inners[self._mask_head(head), outer, inner] if self.by_keys else outer

    def at_keys(self, head: Any, outer: Any, inner: Any, kinds: Any, inners: Any, _: Any) -> Any:
        """Returns the index of a program's block of keys.

        A program that is skipped has the block of the next program that computes something.
        """
        return outer if self.by_keys else inners[self._mask_head(head), outer, inner]

    def of_queries(self, size: int) -> BlockSpec:
        """Returns the block specification of an array [heads, queries, size]."""
        return BlockSpec(
            (None, self.settings.block_q, size), lambda *at: (at[0], self.at_queries(*at), 0)
        )

    def of_keys(self, size: int, heads: int) -> BlockSpec:
        """Returns the block specification of an array [heads, keys, size]."""
        return BlockSpec(
            (None, self.settings.block_kv, size),
            lambda *at: (at[0] // (self.heads // heads), self.at_keys(*at), 0),
        )

    def of_pairs(self) -> BlockSpec:
        """Returns the block specification of an array [heads, queries, keys]."""
        return BlockSpec(
            (None, self.settings.block_q, self.settings.block_kv),
            lambda *at: (at[0], self.at_queries(*at), self.at_keys(*at)),
        )

    def _of_mask(self) -> BlockSpec:
        return BlockSpec(
            (None, self.settings.block_q, self.settings.block_kv),
            lambda head, outer, inner, kinds, inners, positions: (
                positions[self._mask_head(head), outer, inner],
                0,
                0,
            ),
        )

    def __call__(
        self,
        body: Callable[[_Program], None],
        more: list[tuple[Any, BlockSpec]],
        outputs: list[tuple[ShapeDtypeStruct, BlockSpec]],
        scratch: list[tuple[int, ...]],
        name: str,
    ) -> Any:
        """Runs a kernel.

        Args:
          body: the kernel, a function of a `_Program`.
          more: inputs besides the operands, with their block specifications.
          outputs: types of the outputs.
          scratch: the shapes of buffers.
          name: the kernel's name.
        """
        operands, settings = self.operands, self.settings
        specs = Operands(
            self.of_queries(operands.q.shape[2]),
            self.of_keys(operands.k.shape[2], operands.k.shape[0]),
            self.of_keys(operands.v.shape[2], operands.v.shape[0]),
            BlockSpec((settings.block_q, 1), lambda *at: (self.at_queries(*at), 0)),
            BlockSpec((1, settings.block_kv), lambda *at: (0, self.at_keys(*at))),
            self.of_pairs(),
        )
        present = [
            field for field, value in zip(specs._fields, operands, strict=True) if value is not None
        ]

        def kernel(kinds: Any, inners: Any, positions: Any, *refs: Any) -> None:
            remaining = iter(refs)
            blocks = Operands(**{field: next(remaining) for field in present})
            mask = next(remaining)
            inputs = [next(remaining) for _ in more]
            results = [next(remaining) for _ in outputs]
            body(
                _Program(
                    kinds[self._mask_head(program_id(0)), program_id(1), program_id(2)],
                    program_id(2) == 0,
                    program_id(2) == num_programs(2) - 1,
                    blocks,
                    mask,
                    inputs,
                    results,
                    list(remaining),
                )
            )

        call = pallas_call(
            kernel,
            grid_spec=PrefetchScalarGridSpec(
                num_scalar_prefetch=3,
                grid=self.grid,
                in_specs=[getattr(specs, field) for field in present]
                + [self._of_mask()]
                + [spec for _, spec in more],
                out_specs=[spec for _, spec in outputs],
                scratch_shapes=[TpuMemorySpace.VMEM(shape, np.float32) for shape in scratch],
            ),
            out_shape=[struct for struct, _ in outputs],
            compiler_params=CompilerParams(
                dimension_semantics=("parallel", "arbitrary", "arbitrary")
            ),
            interpret=settings.interpret,
            name=name,
        )
        return call(
            self.mask.kinds,
            self.mask.inner,
            self.mask.places,
            *(getattr(operands, field) for field in present),
            self.mask.blocks,
            *(value for value, _ in more),
        )


def forward(
    operands: Operands, mask: MaskBlocks, settings: Settings, sinks: Any = None
) -> tuple[Any, Any]:
    """Returns the attention, and the logsumexp of the scores of each query.

    Args:
      operands: operands of attention.
      mask: the blocks of the mask; the outer blocks are those of queries.
      settings: the parameters of the computation.
      sinks: attention sinks, [heads, 1, 1], or None. The sink of a head is the score of an
        additional key, to which all queries attend and whose value is zero.

    Returns:
      Arrays of shape [heads, queries, value_dim] and [heads, queries, 1].
    """
    call = _Call(operands, mask, settings, by_keys=False)
    heads, queries, _ = operands.q.shape
    size, block_q = operands.v.shape[2], settings.block_q

    def body(program: _Program) -> None:
        out_ref, logarithm_ref = program.outputs
        maximum, total, values = program.scratch

        @when(program.is_first)
        def _start() -> None:
            maximum[...] = (
                jnp.full((block_q, 1), settings.mask_value, np.float32)
                if sinks is None
                else jnp.broadcast_to(program.inputs[0][...].astype(np.float32), (block_q, 1))
            )
            total[...] = jnp.full((block_q, 1), 0.0 if sinks is None else 1.0, np.float32)
            values[...] = jnp.zeros((block_q, size), np.float32)

        @when(program.kind != NONE)
        def _add() -> None:
            scores, _ = _scores(program, settings)
            before = maximum[...]
            after = jnp.maximum(before, jnp.max(scores, axis=1, keepdims=True))
            weights, shrink = jnp.exp(scores - after), jnp.exp(before - after)
            maximum[...] = after
            total[...] = shrink * total[...] + jnp.sum(weights, axis=1, keepdims=True)
            v = program.operands.v[...]
            values[...] = shrink * values[...] + _product(weights.astype(v.dtype), v, (1, 0))

        @when(program.is_last)
        def _finish() -> None:
            sum_ = jnp.where(total[...] == 0, 1.0, total[...])  # 1 if a query attends to no key
            out_ref[...] = (values[...] / sum_).astype(out_ref.dtype)
            logarithm_ref[...] = maximum[...] + jnp.log(sum_)

    more = [] if sinks is None else [(sinks, BlockSpec((None, 1, 1), lambda *at: (at[0], 0, 0)))]
    outputs = [
        (ShapeDtypeStruct((heads, queries, size), operands.q.dtype), call.of_queries(size)),
        (ShapeDtypeStruct((heads, queries, 1), np.dtype(np.float32)), call.of_queries(1)),
    ]
    scratch = [(block_q, 1), (block_q, 1), (block_q, size)]
    out, logarithm = call(body, more, outputs, scratch, "attention_forward")
    return out, logarithm


def _weights_and_slopes(program: _Program, settings: Settings) -> tuple[Any, Any, Any]:
    """Returns the probabilities, and the cotangents of the bias and of the products."""
    logarithm, cotangent, mean = program.inputs
    scores, slope = _scores(program, settings)
    weights = jnp.exp(scores - logarithm[...])
    of_weights = _product(cotangent[...], program.operands.v[...], (1, 1))
    of_scores = weights * (of_weights - mean[...])
    return weights, of_scores / settings.scale * slope, of_scores * slope


def _residuals(call: _Call, logarithm: Any, cotangent: Any, mean: Any) -> list[Any]:
    return [
        (logarithm, call.of_queries(1)),
        (cotangent, call.of_queries(cotangent.shape[2])),
        (mean, call.of_queries(1)),
    ]


def backward_queries(
    operands: Operands,
    mask: MaskBlocks,
    settings: Settings,
    logarithm: Any,
    cotangent: Any,
    mean: Any,
) -> tuple[Any, Any]:
    """Returns the cotangents of queries, and of the bias if there is one.

    Args:
      operands: as in `forward`.
      mask: as in `forward`, cut into blocks of the sizes in ``settings``.
      settings: as in `forward`, but with the block sizes of this kernel.
      logarithm: the logsumexp of each query's scores, from `forward`.
      cotangent: the cotangent of the result.
      mean: the mean of the cotangents of the probabilities, weighted by the probabilities: [heads,
        queries, 1]. It equals the sum of the products of the result and its cotangent.
    """
    call = _Call(operands, mask, settings, by_keys=False)
    size = operands.q.shape[2]
    shape = (settings.block_q, size)

    def body(program: _Program) -> None:
        outputs, (sum_,) = program.outputs, program.scratch

        @when(program.is_first)
        def _start() -> None:
            sum_[...] = jnp.zeros(shape, np.float32)

        if operands.bias is not None:

            @when(program.kind == NONE)
            def _hide() -> None:
                outputs[1][...] = jnp.zeros(outputs[1].shape, outputs[1].dtype)

        @when(program.kind != NONE)
        def _add() -> None:
            _, of_bias, of_products = _weights_and_slopes(program, settings)
            k = program.operands.k[...]
            sum_[...] += _product(of_products.astype(k.dtype), k, (1, 0))
            if operands.bias is not None:
                outputs[1][...] = of_bias.astype(outputs[1].dtype)

        @when(program.is_last)
        def _finish() -> None:
            outputs[0][...] = sum_[...].astype(outputs[0].dtype)

    outputs = [(ShapeDtypeStruct(operands.q.shape, operands.q.dtype), call.of_queries(size))]
    if operands.bias is not None:
        spec = BlockSpec((None, settings.block_q, settings.block_kv), lambda h, i, j, *_: (h, i, j))
        outputs.append((ShapeDtypeStruct(operands.bias.shape, operands.bias.dtype), spec))
    residuals = _residuals(call, logarithm, cotangent, mean)
    results = call(body, residuals, outputs, [shape], "attention_backward_queries")
    return results[0], results[1] if operands.bias is not None else None


def backward_keys(
    operands: Operands,
    mask: MaskBlocks,
    settings: Settings,
    logarithm: Any,
    cotangent: Any,
    mean: Any,
) -> tuple[Any, Any]:
    """Returns the cotangents of keys and values, for each head of queries.

    Args:
      operands: as in `forward`.
      mask: the blocks of the mask, with key blocks in the outer loop and query blocks in the inner
        loop.
      settings: as in `forward`, but with the block sizes of this kernel.
      logarithm: as in `backward_queries`.
      cotangent: as in `backward_queries`.
      mean: as in `backward_queries`.

    Returns:
      Arrays of shape [heads, keys, head_dim] and [heads, keys, value_dim].
    """
    call = _Call(operands, mask, settings, by_keys=True)
    heads, keys = operands.q.shape[0], operands.k.shape[1]
    sizes = (operands.k.shape[2], operands.v.shape[2])

    def body(program: _Program) -> None:
        of_keys, of_values = program.scratch

        @when(program.is_first)
        def _start() -> None:
            for sum_, size in zip(program.scratch, sizes, strict=True):
                sum_[...] = jnp.zeros((settings.block_kv, size), np.float32)

        @when(program.kind != NONE)
        def _add() -> None:
            weights, _, of_products = _weights_and_slopes(program, settings)
            q, cotangents = program.operands.q[...], program.inputs[1][...]
            of_keys[...] += _product(of_products.astype(q.dtype), q, (0, 0))
            of_values[...] += _product(weights.astype(cotangents.dtype), cotangents, (0, 0))

        @when(program.is_last)
        def _finish() -> None:
            for output, sum_ in zip(program.outputs, program.scratch, strict=True):
                output[...] = sum_[...].astype(output.dtype)

    outputs = [
        (ShapeDtypeStruct((heads, keys, size), operand.dtype), call.of_keys(size, heads))
        for size, operand in zip(sizes, (operands.k, operands.v), strict=True)
    ]
    scratch = [(settings.block_kv, size) for size in sizes]
    residuals = _residuals(call, logarithm, cotangent, mean)
    return tuple(call(body, residuals, outputs, scratch, "attention_backward_keys"))
