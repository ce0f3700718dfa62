# SPDX-License-Identifier: Apache-2.0
"""`pallas_call`, which makes a function of arrays from a kernel, a function of references."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.programs.dead_code import dce_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.programs.olympuspr import Olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.programs.tracing import extend_axes
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import FlatFunction, function_source
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import PyTree
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_ir.types.effects import reference_effects
from olympus_ir.types.references import AbstractRef

from ..grids.block_specs import BlockSpec, NoBlockSpec, block_mapping, no_block_spec
from ..grids.grid_mappings import INDEX_DTYPE, GridMapping, dynamic_grid_dim
from ..grids.grid_specs import Grid, GridSpec
from ..grids.program_ids import as_index, inside_grid, with_program_ids
from ..memory.spaces import MemoryRef, TpuMemorySpace

__all__ = ["CompilerParams", "CostEstimate", "pallas_call", "pallas_call_p"]

pallas_call_p = Primitive.declare("pallas_call", multiple_results=True, cache_inference=False)


@pallas_call_p.def_effectful_abstract_eval
def _pallas_call_types(*avals: Any, out_avals: Any, jaxpr: Olympuspr, **params: Any) -> Any:
    return list(out_avals), frozenset(reference_effects.filter_not_in(jaxpr.effects))


@runtime_checkable
class CompilerParams(Protocol):
    """Protocol of the parameters of a platform's compiler; see `triton` and `tpu`."""


@dataclasses.dataclass(frozen=True)
class CostEstimate:
    """Cost of a kernel, for the compiler that schedules it among other operations.

    Args:
      flops: arithmetic operations.
      transcendentals: evaluations of functions such as the exponential.
      bytes_accessed: bytes moved between the device's main memory and the cores.
      remote_bytes_transferred: bytes moved between devices.

    Example:
      >>> CostEstimate(flops=8, transcendentals=0, bytes_accessed=64).flops
      8
    """

    flops: int
    transcendentals: int
    bytes_accessed: int
    remote_bytes_transferred: int = 0

    def to_json(self) -> bytes:
        """Returns the estimate as JSON."""
        return json.dumps(dataclasses.asdict(self)).encode()


def pallas_call(
    kernel: Callable[..., None],
    out_shape: PyTree,
    *,
    grid_spec: GridSpec | None = None,
    grid: Grid = (),
    in_specs: PyTree = no_block_spec,
    out_specs: PyTree = no_block_spec,
    scratch_shapes: PyTree = (),
    input_output_aliases: Mapping[int, int] | Sequence[tuple[int, int]] | None = None,
    debug: bool = False,
    interpret: Any = False,
    name: str | None = None,
    compiler_params: CompilerParams | None = None,
    cost_estimate: CostEstimate | None = None,
    metadata: dict[str, str] | None = None,
) -> Callable[..., Any]:
    """Makes a function of arrays from a kernel that many programs run on blocks of the arrays.

    Args:
      kernel: takes references to the blocks of the inputs, then to the blocks of the outputs, then
        to scratch buffers. It reads with ``ref[...]``, writes with ``ref[...] = value``, and
        returns nothing.
      out_shape: the types of the outputs, `ShapeDtypeStruct` or anything with shape and dtype.
      grid_spec: the grid, specifications and scratch buffers, in place of the next four parameters.
      grid: the number of programs along each axis; `program_id` gives the index of the running
        program.
      in_specs: for each input, the `BlockSpec` of the block that a program sees.
      out_specs: the same for each output.
      scratch_shapes: buffers for each program to work with, such as ``tpu.VMEM((8, 128), dtype)``.
        If they are a dictionary, they are keyword arguments of the kernel.
      input_output_aliases: map from positions of inputs to positions of outputs, or pairs of these.
        The output reuses the memory of the input, and starts with its values.
      debug: whether to print the kernel and the results of its lowering.
      interpret: whether the kernel runs as a loop of array operations. This is required on CPUs.
      name: name of the kernel in messages and profiles.
      compiler_params: parameters of the compiler: `triton.CompilerParams`, `tpu.CompilerParams`.
      cost_estimate: estimated cost of the kernel.
      metadata: further properties that the compiler receives.

    Returns:
      A function that takes the inputs and returns the outputs.

    Raises:
      ValueError: if specifications, inputs and outputs do not fit together, or if the kernel
        returns a value or closes over arrays.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import ShapeDtypeStruct
      >>> from olympus_pallas import BlockSpec, pallas_call
      >>> def add(x_ref, y_ref, o_ref):
      ...     o_ref[...] = x_ref[...] + y_ref[...]
      >>> block = BlockSpec((2,), lambda i: (i,))
      >>> added = pallas_call(add, ShapeDtypeStruct((4,), "int32"), grid=(2,),
      ...                     in_specs=[block, block], out_specs=block, interpret=True)
      >>> added(np.arange(4), np.arange(4))
      Array([0, 2, 4, 6], dtype=int32)
    """
    if grid_spec is None:
        grid_spec = GridSpec(grid, in_specs, out_specs, scratch_shapes)
    else:
        _check_not_given(grid, in_specs, out_specs, scratch_shapes)
    specs = grid_spec.in_specs
    if not isinstance(specs, tuple | list | NoBlockSpec):
        raise ValueError(f"`in_specs` must be a tuple or a list. Found: {specs}")
    if isinstance(out_shape, list):
        out_shape = tuple(out_shape)
    out_leaves, out_tree = pytrees.tree_flatten_with_path(out_shape)
    out_avals = tuple(output_aval(leaf) for _, leaf in out_leaves)
    out_spaces = [getattr(leaf, "memory_space", None) for _, leaf in out_leaves]
    out_names = [pytrees.keystr(path) for path, _ in out_leaves]
    out_origins = [f"outputs{name}" for name in out_names]
    aliases = tuple(dict(input_output_aliases or {}).items())
    if isinstance(interpret, np.bool_):
        interpret = bool(interpret)
    specification = grid_spec

    def wrapped(*args: Any) -> Any:
        leaves, in_tree = pytrees.tree_flatten(args)
        call = _Call(kernel, specification, args, leaves, in_tree)
        call.map_blocks(out_shape, out_tree, out_avals, out_spaces, out_origins, debug)
        call.check_aliases(aliases, out_avals, out_names)
        olympuspr = call.trace_kernel(out_tree, debug)
        results = pallas_call_p.bind(
            *call.grid_bounds,
            *leaves,
            out_avals=out_avals,
            jaxpr=olympuspr,
            debug=debug,
            interpret=interpret,
            grid_mapping=call.grid_mapping,
            mesh=None,
            input_output_aliases=aliases,
            compiler_params=compiler_params,
            cost_estimate=cost_estimate,
            metadata=hashable_metadata(metadata),
            name=name,
        )
        return pytrees.tree_unflatten(out_tree, results)

    return jit(wrapped, inline=True, plain_arguments=True)


class _Metadata(dict):
    """A hashable dictionary, as a parameter of an equation."""

    def __repr__(self) -> str:
        return f"FrozenDict({super().__repr__()})"

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def hashable_metadata(metadata: dict[str, str] | None) -> Any:
    """Returns metadata in hashable form, as equations need for their parameters."""
    return None if metadata is None else _Metadata(metadata)


def _check_not_given(grid: Any, in_specs: Any, out_specs: Any, scratch_shapes: Any) -> None:
    for argument, value, default in (
        ("grid", grid, ()),
        ("in_specs", in_specs, no_block_spec),
        ("out_specs", out_specs, no_block_spec),
        ("scratch_shapes", scratch_shapes, ()),
    ):
        if value is not default and value != default:
            shown = "no_block_spec" if default is no_block_spec else default
            raise ValueError(
                f"If `grid_spec` is specified, then `{argument}` must be `{shown}`. It is {value}"
            )


def output_aval(leaf: Any) -> ShapedArray:
    """Returns the type of an output from the user's description."""
    if isinstance(leaf, MemoryRef):
        return leaf.get_array_aval()
    if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
        raise ValueError(
            f"Invalid out_shape type: {type(leaf)}. An output is described by a ShapeDtypeStruct, "
            "or by anything with a shape and a dtype."
        )
    dtype = leaf.dtype
    if not dtypes.is_extended(dtype):
        dtype = dtypes.canonicalize_dtype(dtype)
    return ShapedArray(leaf.shape, dtype)


def _flat_specs(name: str, target_name: str, specs: Any, target: Any, tree: Any) -> list[Any]:
    """Returns one block specification for each leaf."""
    if isinstance(specs, NoBlockSpec):
        return [specs] * tree.num_leaves

    def is_spec(value: Any) -> bool:
        return isinstance(value, BlockSpec | NoBlockSpec)

    flat, spec_tree = pytrees.tree_flatten(specs, is_leaf=is_spec)
    if spec_tree != tree:
        differences = [
            f"at {pytrees.keystr(path)}, " * bool(path)
            + f"`{name}` is a {actual} but `{target_name}` is a {expected}, so {difference}"
            for path, actual, expected, difference in pytrees.equality_errors_of_structures(
                spec_tree, tree
            )
        ]
        shown = "\n".join(f"    * {difference}" for difference in differences)
        raise ValueError(
            f"Pytree for `{name}` and `{target_name}` do not match. There are {len(differences)} "
            f"mismatches, including:\n{shown}\nGive one BlockSpec for each array: `{name}` has "
            f"the structure {spec_tree} and `{target_name}` the structure {tree}."
        )
    return flat


class _Call:
    """A call of a kernel on inputs of known types."""

    def __init__(
        self,
        kernel: Callable[..., None],
        spec: GridSpec,
        args: tuple,
        leaves: Sequence[Any],
        in_tree: Any,
    ) -> None:
        self.kernel = kernel
        self.spec = spec
        self.args = args
        self.in_tree = in_tree
        self.in_avals = [get_aval(leaf) for leaf in leaves]
        self.source = function_source(kernel)
        self.grid_bounds = [as_index(size) for size in spec.grid if not isinstance(size, int)]
        self.num_prefetched = len(pytrees.tree_leaves(args[: spec.num_scalar_prefetch]))
        if len(args) < spec.num_scalar_prefetch:
            raise ValueError(
                f"the grid has num_scalar_prefetch={spec.num_scalar_prefetch}, but the kernel was "
                f"called with {len(args)} inputs"
            )

    def map_blocks(
        self,
        out_shape: Any,
        out_tree: Any,
        out_avals: Sequence[ShapedArray],
        out_spaces: Sequence[Any],
        out_origins: Sequence[str],
        debug: bool,
    ) -> None:
        """Computes the grid mapping."""
        spec = self.spec
        grid = tuple(size if isinstance(size, int) else dynamic_grid_dim for size in spec.grid)
        index = ShapedArray((), INDEX_DTYPE)
        prefetched = [
            AbstractRef(aval, TpuMemorySpace.SMEM) for aval in self.in_avals[: self.num_prefetched]
        ]
        index_map_avals = (*[index] * len(grid), *prefetched)
        index_map_tree = pytrees.tree_structure(
            (
                (
                    *[0] * len(grid),
                    *pytrees.tree_map(lambda leaf: 0, self.args[: spec.num_scalar_prefetch]),
                ),
                {},
            )
        )
        inputs = self.args[spec.num_scalar_prefetch :]
        in_leaves, inputs_tree = pytrees.tree_flatten_with_path(inputs)
        in_specs = _flat_specs("in_specs", "inputs", spec.in_specs, inputs, inputs_tree)
        out_specs = _flat_specs("out_specs", "out_shape", spec.out_specs, out_shape, out_tree)
        in_origins = [f"args{pytrees.keystr(path)}" for path, _ in in_leaves]
        cut_avals = self.in_avals[self.num_prefetched :]
        with inside_grid(None):
            mappings = [
                block_mapping(
                    _in_space(block_spec, space),
                    origin,
                    aval,
                    index_map_avals,
                    index_map_tree,
                    debug,
                )
                for block_spec, origin, aval, space in zip(
                    [*in_specs, *out_specs],
                    [*in_origins, *out_origins],
                    [*cut_avals, *out_avals],
                    [*[None] * len(in_specs), *out_spaces],
                    strict=True,
                )
            ]
        scratch = spec.scratch_shapes
        self.scratch_leaves, self.scratch_tree = pytrees.tree_flatten(scratch)
        scratch_avals = tuple(_scratch_aval(leaf) for leaf in self.scratch_leaves)
        self.prefetched = prefetched
        self.grid_mapping = GridMapping(
            grid=grid,
            grid_names=spec.grid_names,
            block_mappings=tuple(mappings),
            index_map_tree=index_map_tree,
            index_map_avals=index_map_avals,
            vmapped_dims=(),
            scratch_avals=scratch_avals,
            num_index_operands=self.num_prefetched,
            num_inputs=len(cut_avals),
            num_outputs=len(out_avals),
            debug=debug,
        )
        self.grid_mapping.check_invariants()

    def check_aliases(
        self, aliases: Sequence[tuple[int, int]], out_avals: Any, out_names: Sequence[str]
    ) -> None:
        """Checks the positions of aliases, and that aliased inputs and outputs have equal types."""
        used_outputs: set[int] = set()
        names = [pytrees.keystr(path) for path, _ in pytrees.tree_flatten_with_path(self.args)[0]]
        for source, target in aliases:
            mapping = f"input_output_aliases contains the mapping '{source}:{target}'"
            for kind, position, count in (
                ("input", source, len(self.in_avals)),
                ("output", target, len(out_avals)),
            ):
                if not 0 <= position < count:
                    raise ValueError(
                        f"{mapping} with {kind} index {position} outside the range [0, {count})"
                    )
            if target in used_outputs:
                raise ValueError(f"{mapping}, and output {target} is the target of another input")
            used_outputs.add(target)
            in_aval, out_aval = self.in_avals[source], out_avals[target]
            if in_aval.shape != out_aval.shape or in_aval.dtype != out_aval.dtype:
                raise ValueError(
                    f"{mapping} referring to input{names[source]} with abstract value "
                    f"{in_aval.str_short()} and to output{out_names[target]} with a different "
                    f"abstract value {out_aval.str_short()}. Both must have the same shape and "
                    "dtype."
                )

    def trace_kernel(self, out_tree: Any, debug: bool) -> Olympuspr:
        """Returns the kernel's olympuspr."""
        mapping = self.grid_mapping
        blocks = [block_mapping.transformed_block_aval for block_mapping in mapping.block_mappings]
        avals = [*self.prefetched, *blocks, *mapping.scratch_avals]
        args_tree, outputs_are_tuple = self._kernel_trees(out_tree)
        num_inputs = self.num_prefetched + mapping.num_inputs
        num_outputs = mapping.num_outputs

        def run(*refs: Any) -> Any:
            inputs = pytrees.tree_unflatten(args_tree, refs[:num_inputs])
            outputs = pytrees.tree_unflatten(out_tree, refs[num_inputs : num_inputs + num_outputs])
            scratch = pytrees.tree_unflatten(self.scratch_tree, refs[num_inputs + num_outputs :])
            outputs = outputs if outputs_are_tuple else (outputs,)
            if isinstance(scratch, dict):
                return self.kernel(*inputs, *outputs, **scratch)
            scratch = scratch if isinstance(scratch, tuple) else (scratch,)
            return self.kernel(*inputs, *outputs, *scratch)

        flat = FlatFunction(run, pytrees.tree_structure(((0,) * len(avals), {})))
        info = DebugInfo.of("pallas_call", self.kernel)
        names = mapping.grid_names or ()
        sizes = {
            name: size
            for name, size in zip(names, mapping.grid, strict=False)
            if size is not dynamic_grid_dim
        }
        with inside_grid(mapping.grid), extend_axes(sizes):
            olympuspr, consts = trace_to_olympuspr(flat, avals, info)
        if olympuspr.outvars or flat.out_tree != pytrees.tree_structure(None):
            raise ValueError(
                f"The kernel function in the pallas_call {self.source} should return None. It "
                f"returns a PyTree: {flat.out_tree}"
            )
        if consts:
            shown = ", ".join(get_aval(const).str_short(True) for const in consts)
            raise ValueError(
                f"The kernel function in the pallas_call {self.source} captures constants "
                f"[{shown}]. You should pass them as inputs."
            )
        olympuspr, _ = dce_olympuspr(with_program_ids(olympuspr, names), [], instantiate=True)
        if debug:
            print(f"\nThe kernel olympuspr for pallas_call {self.source}:")
            print(olympuspr)
            print(f"The grid mapping for pallas_call {self.source}:")
            print(mapping)
        return olympuspr

    def _kernel_trees(self, out_tree: Any) -> tuple[Any, bool]:
        kinds = out_tree.node_data()
        return self.in_tree, kinds is not None and kinds[0] is tuple


def _in_space(spec: Any, space: Any) -> Any:
    """Returns a specification with a memory space ``space``, unless it names one already."""
    if space is None:
        return spec
    if isinstance(spec, NoBlockSpec):
        return BlockSpec(memory_space=space)
    return spec if spec.memory_space is not None else spec.replace(memory_space=space)


def _scratch_aval(leaf: Any) -> AbstractRef:
    if not hasattr(leaf, "get_ref_aval"):
        raise TypeError(
            f"scratch_shapes must hold buffers like tpu.VMEM((8, 128), dtype), got {leaf!r}"
        )
    return leaf.get_ref_aval()
