# SPDX-License-Identifier: Apache-2.0
"""Fusion rules of operations, which relate a block of the result to the blocks of the inputs."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.evaluation import bind_equation
from olympus_ir.programs.olympuspr import Equation
from olympus_ir.programs.rules import RuleTable

from .customized import custom_fusion_p

__all__ = ["Block", "BlockRules", "block_rules", "rules_of"]


@dataclasses.dataclass(frozen=True)
class Block:
    """A block of an array, by its shape and its index.

    Attributes:
      shape: the size along each dimension; None for a squeezed dimension.
      place: function from the program's indices to the index of the block.
    """

    shape: tuple[int | None, ...]
    place: Callable[..., tuple[Any, ...]]

    @property
    def kept(self) -> list[int]:
        """The dimensions that the reference has."""
        return [dim for dim, size in enumerate(self.shape) if size is not None]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape that a program sees."""
        return tuple(size for size in self.shape if size is not None)

    def is_same(self, other: Block, rank: int) -> bool:
        """Returns whether two blocks coincide for a few sample programs, as a heuristic."""
        if self.shape != other.shape:
            return False
        for step in (1, 2, 5):
            place = [step * (3 + 4 * axis) for axis in range(rank)]
            if list(map(int, self.place(*place))) != list(map(int, other.place(*place))):
                return False
        return True


@dataclasses.dataclass(frozen=True)
class BlockRules:
    """Rules of one operation.

    Attributes:
      pull: `(equation, block) -> blocks` of the inputs, None for scalars.
      push: `(equation, blocks) -> block` of the result.
      compute: `(equation, operands, in_blocks, out_block, place) -> result` on blocks.
    """

    pull: Callable[..., Any]
    push: Callable[..., Any]
    compute: Callable[..., Any]


block_rules: RuleTable[Any] = RuleTable("block", package="olympus_pallas", folder=None)


def rules_of(equation: Equation) -> BlockRules:
    """Returns the rules of an equation's operation.

    Raises:
      NotImplementedError: if the operation has no rules for blocks.
    """
    rules = block_rules.rules.get(equation.primitive)
    if rules is not None:
        return rules
    if equation.primitive.family == "elementwise" and len(equation.outvars) == 1:
        return _ELEMENTWISE
    raise NotImplementedError(
        f"blocks cannot be followed through `{equation.primitive.name}`: compute it outside of the "
        "fused function, or describe its blocks with custom_fusion"
    )


def _unknown_push(equation: Equation, blocks: Sequence[Any]) -> Any:
    raise NotImplementedError(f"blocks cannot be pushed through `{equation.primitive.name}`")


# ---- elementwise ----


def _pull_elementwise(equation: Equation, block: Block) -> list[Any]:
    shape = equation.outvars[0].aval.shape
    blocks: list[Any] = []
    for atom in equation.invars:
        atom_shape = atom.aval.shape
        if atom_shape == shape and shape:
            blocks.append(block)
        elif not atom_shape:
            blocks.append(None)
        else:
            # Dimensions of size 1 that the operation broadcasts have blocks of size 1.
            kept = tuple(1 if n == 1 and size else size for n, size in zip(atom_shape, block.shape))
            ones = [n == 1 for n in atom_shape]
            blocks.append(
                Block(
                    kept,
                    lambda *at, ones=ones: tuple(
                        0 if is_one else index
                        for is_one, index in zip(ones, block.place(*at), strict=True)
                    ),
                )
            )
    return blocks


def _push_elementwise(equation: Equation, blocks: Sequence[Any]) -> Any:
    shape = equation.outvars[0].aval.shape
    for atom, block in zip(equation.invars, blocks, strict=True):
        if block is not None and atom.aval.shape == shape:
            return block
    return None


def _compute(equation: Equation, operands: Sequence[Any], *rest: Any) -> Any:
    return bind_equation(equation, operands)[0]


_ELEMENTWISE = BlockRules(_pull_elementwise, _push_elementwise, _compute)
block_rules.define(lax.select_n_p, _ELEMENTWISE)
block_rules.define(lax.convert_element_type_p, _ELEMENTWISE)


# ---- shapes ----


def _pull_transpose(equation: Equation, block: Block) -> list[Block]:
    permutation = equation.params["permutation"]
    order = np.argsort(permutation).tolist()
    shape = tuple(block.shape[dim] for dim in order)

    def place(*at: Any) -> tuple[Any, ...]:
        whole = block.place(*at)
        return tuple(whole[dim] for dim in order)

    return [Block(shape, place)]


def _push_transpose(equation: Equation, blocks: Sequence[Any]) -> Block:
    (block,) = blocks
    permutation = equation.params["permutation"]

    def place(*at: Any) -> tuple[Any, ...]:
        whole = block.place(*at)
        return tuple(whole[dim] for dim in permutation)

    return Block(tuple(block.shape[dim] for dim in permutation), place)


def _compute_transpose(
    equation: Equation, operands: Sequence[Any], in_blocks: Any, out_block: Any, place: Any
) -> Any:
    kept = in_blocks[0].kept
    order = [kept.index(dim) for dim in equation.params["permutation"] if dim in kept]
    return lax.transpose(operands[0], order)


block_rules.define(
    lax.transpose_p, BlockRules(_pull_transpose, _push_transpose, _compute_transpose)
)


def _pull_broadcast(equation: Equation, block: Block) -> list[Any]:
    operand_shape = equation.invars[0].aval.shape if equation.invars else ()
    dims = equation.params["broadcast_dimensions"]
    if not operand_shape:
        return [None] * len(equation.invars)
    target = equation.outvars[0].aval.shape
    spread = [size == 1 and target[dim] != 1 for size, dim in zip(operand_shape, dims, strict=True)]
    shape = tuple(
        1 if is_one and block.shape[dim] is not None else block.shape[dim]
        for is_one, dim in zip(spread, dims, strict=True)
    )

    def place(*at: Any) -> tuple[Any, ...]:
        whole = block.place(*at)
        return tuple(0 if is_one else whole[dim] for is_one, dim in zip(spread, dims, strict=True))

    return [Block(shape, place)]


def _push_broadcast(equation: Equation, blocks: Sequence[Any]) -> Any:
    (block,) = blocks
    if block is None:
        return None
    dims = list(equation.params["broadcast_dimensions"])
    operand_shape, target = equation.invars[0].aval.shape, equation.outvars[0].aval.shape
    shape = tuple(
        block.shape[dims.index(dim)]
        if dim in dims and operand_shape[dims.index(dim)] == size
        else size
        for dim, size in enumerate(target)
    )

    def place(*at: Any) -> tuple[Any, ...]:
        whole = block.place(*at)
        return tuple(
            whole[dims.index(dim)] if dim in dims and operand_shape[dims.index(dim)] == size else 0
            for dim, size in enumerate(target)
        )

    return Block(shape, place)


def _compute_broadcast(
    equation: Equation, operands: Sequence[Any], in_blocks: Any, out_block: Any, place: Any
) -> Any:
    kept = out_block.kept
    if in_blocks[0] is None:
        return lax.broadcast_in_dim(operands[0], out_block.sizes, ())
    dims = equation.params["broadcast_dimensions"]
    target = [kept.index(dims[dim]) for dim in in_blocks[0].kept]
    return lax.broadcast_in_dim(operands[0], out_block.sizes, target)


block_rules.define(
    lax.broadcast_in_dim_p, BlockRules(_pull_broadcast, _push_broadcast, _compute_broadcast)
)


def _ones_matched(before: Sequence[int], after: Sequence[int]) -> list[int | None] | None:
    """Returns, for each dimension of ``after``, the corresponding dimension of ``before``.

    The shapes may differ in dimensions of size 1. An added dimension has None. The result is None
    if the shapes differ otherwise.
    """
    matched: list[int | None] = []
    position = 0
    for size in after:
        while position < len(before) and before[position] == 1 and size != 1:
            position += 1
        if position < len(before) and before[position] == size:
            matched.append(position)
            position += 1
        elif size == 1:
            matched.append(None)
        else:
            return None
    return matched if all(size == 1 for size in before[position:]) else None


def _matched_dims(equation: Equation) -> list[int | None]:
    before, after = equation.invars[0].aval.shape, equation.outvars[0].aval.shape
    if equation.primitive is lax.squeeze_p:
        gone = equation.params["dimensions"]
        return [dim for dim in range(len(before)) if dim not in gone]
    matched = _ones_matched(before, after)
    if matched is None:
        raise NotImplementedError(
            f"reshapes of fused blocks may only add or drop dimensions of size 1, got {before} to "
            f"{after}"
        )
    return matched


def _pull_reshape(equation: Equation, block: Block) -> list[Block]:
    matched = _matched_dims(equation)
    before = equation.invars[0].aval.shape
    shape: list[int | None] = [None] * len(before)
    for dim, source in enumerate(matched):
        if source is not None:
            shape[source] = block.shape[dim]

    def place(*at: Any) -> tuple[Any, ...]:
        whole: list[Any] = [0] * len(before)
        for dim, index in enumerate(block.place(*at)):
            source = matched[dim]
            if source is not None:
                whole[source] = index
        return tuple(whole)

    return [Block(tuple(shape), place)]


def _push_reshape(equation: Equation, blocks: Sequence[Any]) -> Block:
    (block,) = blocks
    matched = _matched_dims(equation)

    def place(*at: Any) -> tuple[Any, ...]:
        whole = block.place(*at)
        return tuple(0 if source is None else whole[source] for source in matched)

    shape = tuple(1 if source is None else block.shape[source] for source in matched)
    return Block(shape, place)


def _compute_reshape(
    equation: Equation, operands: Sequence[Any], in_blocks: Any, out_block: Any, place: Any
) -> Any:
    return lax.reshape(operands[0], out_block.sizes)


for _primitive in (lax.reshape_p, lax.squeeze_p):
    block_rules.define(_primitive, BlockRules(_pull_reshape, _push_reshape, _compute_reshape))


def _pull_slice(equation: Equation, block: Block) -> list[Block]:
    strides = equation.params["strides"]
    if strides is not None and any(stride != 1 for stride in strides):
        raise NotImplementedError("blocks are not followed through slices with strides")
    offsets = []
    for start, size in zip(equation.params["start_indices"], block.shape, strict=True):
        if start % (size or 1):
            raise ValueError(
                f"a slice that begins at {start} does not begin with a block of size {size}"
            )
        offsets.append(start // (size or 1))

    def place(*at: Any) -> tuple[Any, ...]:
        return tuple(
            index + offset for index, offset in zip(block.place(*at), offsets, strict=True)
        )

    return [Block(block.shape, place)]


block_rules.define(
    lax.slice_p, BlockRules(_pull_slice, _unknown_push, lambda equation, operands, *_: operands[0])
)


def _piece_starts(equation: Equation, size: int | None) -> list[int]:
    """Returns the index of each joined piece's first block, and the total number of blocks."""
    dim = equation.params["dimension"]
    starts = [0]
    for atom in equation.invars:
        length = atom.aval.shape[dim]
        if length % (size or 1):
            raise ValueError(
                f"a piece of size {length} that is joined along dimension {dim} is not made of "
                f"whole blocks of size {size}"
            )
        starts.append(starts[-1] + length // (size or 1))
    return starts


def _pull_concatenate(equation: Equation, block: Block) -> list[Block]:
    dim = equation.params["dimension"]
    starts = _piece_starts(equation, block.shape[dim])

    def piece(start: int, stop: int) -> Block:
        def place(*at: Any) -> tuple[Any, ...]:
            whole = list(block.place(*at))
            # Programs outside of this piece see its first or last block, but do not use that block.
            whole[dim] = _clipped(whole[dim] - start, stop - start - 1)
            return tuple(whole)

        return Block(block.shape, place)

    return [piece(start, stop) for start, stop in itertools.pairwise(starts)]


def _clipped(index: Any, last: int) -> Any:
    if isinstance(index, int):
        return min(max(index, 0), last)
    return lax.clamp(np.int32(0), lax.convert_element_type(index, np.int32), np.int32(last))


def _compute_concatenate(
    equation: Equation, operands: Sequence[Any], in_blocks: Any, out_block: Any, place: Any
) -> Any:
    dim = equation.params["dimension"]
    result, *rest = operands
    for start, piece in zip(_piece_starts(equation, out_block.shape[dim])[1:], rest, strict=False):
        is_beyond = lax.ge(lax.convert_element_type(place[dim], np.int32), np.int32(start))
        result = lax.select_n(lax.broadcast_in_dim(is_beyond, result.shape, ()), result, piece)
    return result


block_rules.define(
    lax.concatenate_p, BlockRules(_pull_concatenate, _unknown_push, _compute_concatenate)
)


def _compute_iota(
    equation: Equation, operands: Sequence[Any], in_blocks: Any, out_block: Any, place: Any
) -> Any:
    dim, dtype = equation.params["dimension"], equation.params["dtype"]
    start = place[dim] * (out_block.shape[dim] or 1)
    start = lax.convert_element_type(start, dtype)
    if out_block.shape[dim] is None:
        return lax.broadcast_in_dim(start, out_block.sizes, ())
    numbers = lax.broadcasted_iota(dtype, out_block.sizes, out_block.kept.index(dim))
    return lax.add(numbers, lax.broadcast_in_dim(start, out_block.sizes, ()))


block_rules.define(lax.iota_p, BlockRules(lambda equation, block: [], _unknown_push, _compute_iota))


# ---- reductions ----


def _pull_reduction(equation: Equation, block: Block) -> list[Block]:
    shape = equation.invars[0].aval.shape
    axes = equation.params["axes"]
    rest = [dim for dim in range(len(shape)) if dim not in axes]
    sizes: list[int | None] = list(shape)
    for position, dim in enumerate(rest):
        sizes[dim] = block.shape[position]

    def place(*at: Any) -> tuple[Any, ...]:
        whole: list[Any] = [0] * len(shape)
        for dim, index in zip(rest, block.place(*at), strict=True):
            whole[dim] = index
        return tuple(whole)

    return [Block(tuple(sizes), place)]


def _compute_reduction(
    equation: Equation, operands: Sequence[Any], in_blocks: Any, out_block: Any, place: Any
) -> Any:
    kept = in_blocks[0].kept
    axes = tuple(kept.index(axis) for axis in equation.params["axes"])
    return equation.primitive.bind(operands[0], **{**equation.params, "axes": axes})


for _primitive in (lax.reduce_sum_p, lax.reduce_max_p, lax.reduce_min_p, lax.reduce_prod_p):
    block_rules.define(_primitive, BlockRules(_pull_reduction, _unknown_push, _compute_reduction))


# ---- customized ----


def _no_rule(equation: Equation, *rest: Any) -> Any:
    raise AssertionError(f"{custom_fusion_p.name} has no block rule: its own rules apply")


block_rules.define(
    custom_fusion_p,
    BlockRules(
        _no_rule,
        _no_rule,
        lambda equation, operands, *_: equation.params["custom"].on_blocks(operands)[0],
    ),
)
