# SPDX-License-Identifier: Apache-2.0
"""Propagation of block specifications from results to inputs, and from inputs to results."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.programs.evaluation import bind_equation
from olympus_ir.programs.olympuspr import Literal, Olympuspr
from olympus_ir.trees import pytrees

from ..grids.block_dims import Blocked, Squeezed
from ..grids.block_specs import BlockSpec, NoBlockSpec, no_block_spec
from .customized import custom_fusion_p
from .inlining import inlined, traced
from .rules import Block, rules_of

__all__ = [
    "BlockIndexTransform",
    "make_scalar_prefetch_handler",
    "pull_block_spec",
    "push_block_spec",
]


def _same_place(*block_indices: Any) -> tuple[Any, ...]:
    return block_indices


@dataclasses.dataclass(frozen=True)
class BlockIndexTransform:
    """Map from the index of a result's block to the index of an input's block.

    Args:
      block_shape: the shape of the input's block.
      block_index_transform: function from the index of the result's block to that of the input's
        block.
      memory_space: the memory that holds the input's block.
      pipeline_mode: the way in which the pipeline loads the block.

    Example:
      >>> BlockIndexTransform((8, 128), lambda i, j: (j, i)).block_index_transform(1, 2)
      (2, 1)
    """

    block_shape: Sequence[Any] | None
    block_index_transform: Callable[..., Any] = _same_place
    _: dataclasses.KW_ONLY
    memory_space: Any | None = None
    pipeline_mode: Any | None = None

    def replace(self, **kwargs: Any) -> BlockIndexTransform:
        """Returns the transform with some fields changed."""
        return dataclasses.replace(self, **kwargs)


def make_scalar_prefetch_handler(*args: Any) -> Callable[..., Any]:
    """Returns a function that selects prefetched scalars from index maps' arguments.

    Args:
      *args: the position of the argument, then positions within it.

    Example:
      >>> make_scalar_prefetch_handler(0, 1)(("a", "b"), "c")
      'b'
    """

    def handler(*sp_inputs: Any) -> Any:
        picked: Any = sp_inputs
        for position in args:
            picked = picked[position]
        return picked

    return handler


def _block_of(spec: BlockSpec) -> Block:
    def size(dim: Any) -> int | None:
        if dim is None or isinstance(dim, Squeezed):
            return None
        if isinstance(dim, Blocked):
            return dim.block_size
        if isinstance(dim, int):
            return dim
        raise NotImplementedError(f"fusions need blocks of known sizes, got the dimension {dim!r}")

    if spec.block_shape is None:
        raise ValueError("a specification without a block shape cannot be propagated")
    shape = tuple(size(dim) for dim in spec.block_shape)
    index_map = spec.index_map or (lambda *place: (0,) * len(shape))

    def place(*at: Any) -> tuple[Any, ...]:
        index = index_map(*at)
        return tuple(index) if isinstance(index, tuple | list) else (index,)

    return Block(shape, place)


def _rank(specs: Sequence[Any], grid_len: int | None) -> int:
    """Returns the rank of the grid, from ``grid_len`` or from an index map's parameters."""
    if grid_len is not None:
        return grid_len
    for spec in specs:
        if isinstance(spec, BlockSpec) and spec.index_map is not None:
            return len(inspect.signature(spec.index_map).parameters)
    raise ValueError("the rank of the grid is not known: give grid_len")


def _is_spec(value: Any) -> bool:
    return value is None or isinstance(value, BlockSpec | NoBlockSpec)


def _specs_of_custom(equation: Any, rule: Any, blocks: Sequence[Any], verb: str) -> list[Any]:
    if rule is None:
        raise NotImplementedError(f"the custom fusion has no rule to {verb} specifications")
    specs = tuple(
        no_block_spec if block is None else BlockSpec(block.shape, block.place) for block in blocks
    )
    results = []
    for spec in rule(specs):
        if isinstance(spec, BlockIndexTransform):
            transform, outer = spec.block_index_transform, blocks[0]
            results.append(
                Block(
                    tuple(spec.block_shape or ()),
                    lambda *at, t=transform, o=outer: tuple(t(*o.place(*at))),
                )
            )
        else:
            results.append(None if isinstance(spec, NoBlockSpec) else _block_of(spec))
    return results


class _Pulled:
    """Blocks of a program's variables that are needed to compute given blocks of its results."""

    def __init__(
        self, program: Olympuspr, outputs: Sequence[Any], rank: int, strict_mode: bool
    ) -> None:
        self.program = program
        self.rank = rank
        self.strict_mode = strict_mode
        self.blocks: dict[Any, Any] = {}
        for atom, block in zip(program.outvars, outputs, strict=True):
            self._join(atom, block)
        for equation in reversed(program.eqns):
            block = self.blocks.get(equation.outvars[0])
            if block is None and not any(self._is_needed(var) for var in equation.outvars):
                continue
            if equation.primitive is custom_fusion_p:
                rule = equation.params["custom"].pull_block_spec_rule
                outs = [self.blocks.get(var) for var in equation.outvars]
                needed = _specs_of_custom(equation, rule, outs, "pull")
            elif block is None:
                # Scalars are not cut into blocks.
                needed = [None] * len(equation.invars)
            else:
                needed = rules_of(equation).pull(equation, block)
            for atom, part in zip(equation.invars, needed, strict=True):
                self._join(atom, part)

    def _is_needed(self, var: Any) -> bool:
        return var in self.blocks

    def _join(self, atom: Any, block: Any) -> None:
        if atom.__class__ is Literal:
            return
        if atom not in self.blocks:
            self.blocks[atom] = block
            return
        known = self.blocks[atom]
        if known is None or block is None:
            same = known is block
        else:
            same = known.shape == block.shape
            if self.strict_mode:
                same = same and known.is_same(block, self.rank)
        if not same:
            raise ValueError(
                f"Fusion contains a DAG, cannot uniquely pull block specs:\n{self.program}"
            )

    def run(self, place: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        """Computes the results' blocks from the inputs' blocks."""
        values: dict[Any, Any] = dict(zip(self.program.invars, operands, strict=True))

        def value_of(atom: Any) -> Any:
            return atom.val if atom.__class__ is Literal else values[atom]

        for equation in self.program.eqns:
            if not any(var in self.blocks for var in equation.outvars):
                continue
            arguments = [value_of(atom) for atom in equation.invars]
            block = self.blocks.get(equation.outvars[0])
            if block is None:
                results = bind_equation(equation, arguments)
                values.update(zip(equation.outvars, results, strict=True))
                continue
            in_blocks = [
                None if atom.__class__ is Literal else self.blocks.get(atom)
                for atom in equation.invars
            ]
            result = rules_of(equation).compute(
                equation, arguments, in_blocks, block, block.place(*place)
            )
            values[equation.outvars[0]] = result
        return [value_of(atom) for atom in self.program.outvars]


def pull_block_spec(
    f: Callable[..., Any],
    out_block_specs: BlockSpec | Sequence[BlockSpec],
    *,
    scalar_prefetch_handler: Any | None = None,
    grid_len: int | None = None,
    strict_mode: bool = True,
) -> Callable[..., Any]:
    """Returns the blocks of a function's inputs that are needed for given blocks of its result.

    Args:
      f: the function of arrays.
      out_block_specs: the specification of the result, or several.
      scalar_prefetch_handler: picks the function's prefetched scalars out of the arguments of index
        maps. It has no effect here.
      grid_len: the rank of the grid; by default the number of the index map's parameters.
      strict_mode: whether the block indices of an array that several operations use must be equal.

    Returns:
      A function of arrays, or of their types, that returns three things. The first is the function
      on blocks, which the kernel calls as ``kernel_fn(program_ids, scalar_prefetch, *blocks,
      **blocks)``. The second is the specifications of the arguments, `no_block_spec` for scalars
      and for arguments that are not needed. The third is the specifications of the keyword
      arguments.

    Raises:
      NotImplementedError: if the function uses an operation that does not work on blocks.
      ValueError: if two operations need different blocks of one array.

    Example:
      >>> import numpy as np
      >>> spec = BlockSpec((8, 128), lambda i, j: (i, j))
      >>> x = np.zeros((128, 16), np.float32)
      >>> function, (x_spec,), _ = pull_block_spec(lambda x: 2 * x.T, spec)(x)
      >>> x_spec.block_shape, x_spec.index_map(3, 4)
      ((128, 8), (4, 3))
      >>> function((0, 0), (), x[:, :8]).shape
      (8, 128)
    """

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        program, consts, out_tree = traced(f, args, kwargs)
        if consts:
            raise ValueError(
                "a function whose specifications are pulled cannot close over arrays; make them "
                "arguments of it, with get_fusion_values"
            )
        specs = pytrees.tree_leaves(out_block_specs, is_leaf=_is_spec)
        rank = _rank(specs, grid_len)
        pulled = _Pulled(inlined(program), [_block_of(spec) for spec in specs], rank, strict_mode)
        in_specs = []
        for var in pulled.program.invars:
            block = pulled.blocks.get(var)
            in_specs.append(no_block_spec if block is None else _spec_of(block, rank))
        tree = pytrees.tree_structure((args, kwargs))
        positional, by_name = pytrees.tree_unflatten(tree, in_specs)

        def kernel_fn(
            program_ids: Sequence[Any], scalar_prefetch: Any, *args: Any, **kwargs: Any
        ) -> Any:
            blocks = pytrees.tree_leaves((args, kwargs))
            return pytrees.tree_unflatten(out_tree, pulled.run(program_ids[:rank], blocks))

        return kernel_fn, positional, by_name

    return wrapped


def _spec_of(block: Block, rank: int) -> BlockSpec:
    # Prefetched scalars come after the indices.
    return BlockSpec(block.shape, lambda *at: block.place(*at[:rank]))


def push_block_spec(f: Callable[..., Any], *in_spec_args: Any, **in_spec_kwargs: Any) -> Any:
    """Computes the block specifications of a function's results from those of its inputs.

    Args:
      f: the function of arrays.
      *in_spec_args: the specification of each argument; `no_block_spec` for scalars.
      **in_spec_kwargs: the specifications of the keyword arguments.

    Returns:
      A function of arrays, or of their types, that returns the specifications of the results.

    Raises:
      NotImplementedError: if the function uses an operation that does not work on blocks.

    Example:
      >>> import numpy as np
      >>> spec = BlockSpec((8, 128), lambda i, j: (i, j))
      >>> pushed = push_block_spec(lambda x: x.T, spec)(np.zeros((16, 128)))
      >>> pushed.block_shape, pushed.index_map(3, 4)
      ((128, 8), (4, 3))
    """

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        program, consts, out_tree = traced(f, args, kwargs)
        if consts:
            raise ValueError(
                "a function whose specifications are pushed cannot close over arrays; pass the "
                "arrays as arguments, which get_fusion_values returns"
            )
        specs = pytrees.tree_leaves((in_spec_args, in_spec_kwargs), is_leaf=_is_spec)
        whole = inlined(program)
        blocks: dict[Any, Any] = {}
        for var, spec in zip(whole.invars, specs, strict=True):
            blocks[var] = _block_of(spec) if isinstance(spec, BlockSpec) else None
        for equation in whole.eqns:
            operand_blocks = [
                None if atom.__class__ is Literal else blocks.get(atom) for atom in equation.invars
            ]
            if equation.primitive is custom_fusion_p:
                rule = equation.params["custom"].push_block_spec_rule
                results = _specs_of_custom(equation, rule, operand_blocks, "push")
                blocks.update(zip(equation.outvars, results, strict=True))
            elif all(block is None for block in operand_blocks):
                blocks[equation.outvars[0]] = None
            else:
                blocks[equation.outvars[0]] = rules_of(equation).push(equation, operand_blocks)
        results = []
        for atom in whole.outvars:
            block = None if atom.__class__ is Literal else blocks.get(atom)
            results.append(no_block_spec if block is None else BlockSpec(block.shape, block.place))
        return pytrees.tree_unflatten(out_tree, results)

    return wrapped
