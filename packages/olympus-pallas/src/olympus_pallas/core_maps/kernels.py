# SPDX-License-Identifier: Apache-2.0
"""Kernels over meshes of cores: `kernel` for functions of arrays, `core_map` for references.

The primitive ``mpmd_map(*operands, jaxprs, meshes, out_avals, ...)`` runs one program on each core
of a mesh, or several programs on several meshes at once. The constants of ``core_map(*constants,
jaxpr, mesh, ...)`` are the references that its program uses. Discharging turns `core_map` into
`mpmd_map`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.programs.jit import jit
from olympus_ir.programs.olympuspr import Olympuspr, Var, constants_as_inputs
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.references.discharge import discharge_rules
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import FlatFunction, function_source
from olympus_ir.types.annotations import PyTree
from olympus_ir.types.avals import get_aval
from olympus_ir.types.effects import reference_effects
from olympus_ir.types.references import AbstractRef

from ..calls.pallas_call import CompilerParams, CostEstimate, hashable_metadata, output_aval
from ..settings.interpret_params import InterpretParams
from .meshes import Mesh

__all__ = ["core_map", "core_map_p", "kernel", "mpmd_map_p"]

mpmd_map_p = Primitive.declare("mpmd_map", multiple_results=True, cache_inference=False)
core_map_p = Primitive.declare("core_map", multiple_results=True, cache_inference=False)
for _primitive in (mpmd_map_p, core_map_p):
    _primitive.takes_refs = True
    _primitive.spreads_varying = False


@mpmd_map_p.def_effectful_abstract_eval
def _mpmd_map_types(*avals: Any, out_avals: Any, jaxprs: Any, meshes: Any, **params: Any) -> Any:
    effects = frozenset().union(*(program.effects for program in jaxprs))
    if not any(aval.is_ref for aval in avals):
        effects = reference_effects.filter_not_in(effects)
    return list(out_avals), frozenset(_outside(effects, meshes))


@core_map_p.def_effectful_abstract_eval
def _core_map_types(*avals: Any, jaxpr: Olympuspr, mesh: Any, **params: Any) -> Any:
    return (), frozenset(_outside(jaxpr.effects, (mesh,)))


def _outside(effects: Any, meshes: Sequence[Any]) -> list[Any]:
    """Returns the effects that no mesh discharges, which are visible outside of the kernel."""
    return [
        effect for effect in effects if not any(mesh.discharges_effect(effect) for mesh in meshes)
    ]


class _Aliases(dict):
    """A hashable map from inputs to the outputs that reuse their memory."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))

    def __repr__(self) -> str:
        return f"FrozenDict({dict(self)!r})"


_not_given: Any = object()


def kernel(
    body: Callable[..., None] | Sequence[Callable[..., None]] = _not_given,
    out_type: object = (),
    *,
    mesh: Mesh | Sequence[Mesh],
    scratch_types: Sequence[Any] | Mapping[str, Any] = (),
    compiler_params: CompilerParams | None = None,
    interpret: bool | InterpretParams = False,
    cost_estimate: CostEstimate | None = None,
    debug: bool = False,
    name: str | None = None,
    metadata: dict[str, str] | None = None,
) -> Any:
    """Makes a function of arrays from a kernel that runs on each core of a mesh.

    Args:
      body: takes references to the inputs, then to the outputs, then to scratch buffers, each as a
        whole. It returns nothing. Several meshes take a sequence of functions, one for each mesh.
        Without ``body``, a decorator is returned.
      out_type: the types of the outputs.
      mesh: the cores, such as ``tpu.create_tensorcore_mesh("core")``, or several meshes whose cores
        run at the same time. Within the kernel, ``lax.axis_index("core")`` gives the core's index.
      scratch_types: buffers for each core to work with. If they are a dictionary, they are keyword
        arguments of the kernel.
      compiler_params: parameters of the compiler.
      interpret: whether the kernel runs on simulated cores: True, or ``tpu.InterpretParams()``.
      cost_estimate: estimated cost of the kernel.
      debug: whether to print the kernel and the results of its lowering.
      name: name of the kernel in messages and profiles.
      metadata: further properties that the compiler receives.

    Returns:
      A function that takes the inputs and returns the outputs. References among the inputs are
      references for the kernel too.

    Raises:
      ValueError: if the kernel returns a value or closes over arrays, or if the numbers of
        functions and meshes differ.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import ShapeDtypeStruct, lax
      >>> from olympus_pallas import ds, kernel, tpu
      >>> mesh = tpu.create_tensorcore_mesh("core", num_cores=2)
      >>> def swap_halves(x_ref, o_ref):
      ...     core = lax.axis_index("core")
      ...     tpu.sync_copy(x_ref.at[ds(2 * core, 2)], o_ref.at[ds(2 - 2 * core, 2)])
      >>> kernel(swap_halves, ShapeDtypeStruct((4,), "int32"), mesh=mesh, interpret=True)(
      ...     np.arange(4))
      Array([2, 3, 0, 1], dtype=int32)
    """
    if body is _not_given:

        def decorate(function: Any) -> Any:
            return kernel(
                function,
                out_type,
                mesh=mesh,
                scratch_types=scratch_types,
                compiler_params=compiler_params,
                interpret=interpret,
                cost_estimate=cost_estimate,
                debug=debug,
                name=name,
                metadata=metadata,
            )

        return decorate
    meshes: tuple[Any, ...] = tuple(mesh) if isinstance(mesh, list | tuple) else (mesh,)
    bodies: tuple[Any, ...] = tuple(body) if isinstance(body, list | tuple) else (body,)
    if len(meshes) != len(bodies):
        raise ValueError(
            f"a kernel must have one function for each mesh, got {len(bodies)} functions and "
            f"{len(meshes)} meshes"
        )
    for position, core_mesh in enumerate(meshes):
        for other in meshes[:position]:
            core_mesh.check_is_compatible_with(other)
    if isinstance(out_type, list):
        out_type = tuple(out_type)
    out_leaves, out_tree = pytrees.tree_flatten(out_type)
    out_avals = tuple(output_aval(leaf) for leaf in out_leaves)

    def wrapped(*args: Any) -> Any:
        leaves, in_tree = pytrees.tree_flatten(args)
        in_avals = [get_aval(leaf) for leaf in leaves]
        programs = tuple(
            _trace(
                function, core_mesh, in_avals, in_tree, out_avals, out_tree, scratch_types, debug
            )
            for function, core_mesh in zip(bodies, meshes, strict=True)
        )
        results = mpmd_map_p.bind(
            *leaves,
            jaxprs=programs,
            meshes=meshes,
            external_meshes=(),
            out_avals=out_avals,
            input_output_aliases=_Aliases(),
            compiler_params=compiler_params,
            interpret=interpret,
            cost_estimate=cost_estimate,
            debug=debug,
            name=name,
            metadata=hashable_metadata(metadata),
        )
        return pytrees.tree_unflatten(out_tree, results)

    return jit(wrapped, inline=True, plain_arguments=True)


def _trace(
    function: Callable[..., Any],
    mesh: Mesh,
    in_avals: Sequence[Any],
    in_tree: Any,
    out_avals: Sequence[Any],
    out_tree: Any,
    scratch_types: Any,
    debug: bool,
) -> Olympuspr:
    space = mesh.default_memory_space
    inputs = [aval if aval.is_ref else AbstractRef(_plain(aval), space) for aval in in_avals]
    outputs = [AbstractRef(aval, space) for aval in out_avals]
    if isinstance(scratch_types, list):
        scratch_types = tuple(scratch_types)
    scratch_leaves, scratch_tree = pytrees.tree_flatten(scratch_types)
    scratch = [leaf.get_ref_aval() for leaf in scratch_leaves]
    num_inputs, num_outputs = len(inputs), len(outputs)
    kinds = out_tree.node_data()
    is_tuple = kinds is not None and kinds[0] is tuple

    def run(*refs: Any) -> Any:
        arguments = pytrees.tree_unflatten(in_tree, refs[:num_inputs])
        results = pytrees.tree_unflatten(out_tree, refs[num_inputs : num_inputs + num_outputs])
        buffers = pytrees.tree_unflatten(scratch_tree, refs[num_inputs + num_outputs :])
        results = results if is_tuple else (results,)
        if isinstance(buffers, Mapping):
            return function(*arguments, *results, **buffers)
        buffers = buffers if isinstance(buffers, tuple) else (buffers,)
        return function(*arguments, *results, *buffers)

    avals = [*inputs, *outputs, *scratch]
    program, consts = _traced(run, avals, mesh, "mpmd_map", function)
    if consts:
        shown = ", ".join(get_aval(const).str_short(True) for const in consts)
        raise ValueError(
            f"The kernel function in mpmd_map {function_source(function)} captures constants "
            f"[{shown}]. You should pass them as inputs."
        )
    if debug:
        print(f"\nThe kernel olympuspr for mpmd_map {function_source(function)}:")
        print(program)
    return program


def _plain(aval: Any) -> Any:
    return aval.update(vma=frozenset(), weak_type=False)


def _traced(
    run: Callable[..., Any], avals: Sequence[Any], mesh: Mesh, name: str, function: Any
) -> tuple[Olympuspr, Sequence[Any]]:
    flat = FlatFunction(run, pytrees.tree_structure(((0,) * len(avals), {})))
    with mesh.tracing_context():
        program, consts = trace_to_olympuspr(flat, avals, DebugInfo.of(name, function))
    if program.outvars or flat.out_tree != pytrees.tree_structure(None):
        raise ValueError(
            f"The kernel function in {name} {function_source(function)} should return None. It "
            f"returns a PyTree: {flat.out_tree}."
        )
    return program, consts


# ---- with references ----


def core_map(
    mesh: Mesh,
    *,
    compiler_params: CompilerParams | None = None,
    interpret: bool | InterpretParams = False,
    debug: bool = False,
    cost_estimate: CostEstimate | None = None,
    name: str | None = None,
    metadata: dict[str, str] | None = None,
    scratch_shapes: PyTree = (),
) -> Callable[[Callable[..., None]], None]:
    """Runs the decorated function on each core of a mesh, on references that it closes over.

    Args:
      mesh: the cores.
      compiler_params: parameters of the compiler.
      interpret: whether the function runs on simulated cores: True, or ``tpu.InterpretParams()``.
      debug: whether to print the kernel and the results of its lowering.
      cost_estimate: estimated cost of the kernel.
      name: name of the kernel in messages and profiles; the function's name by default.
      metadata: further properties that the compiler receives.
      scratch_shapes: buffers for each core to work with; they are arguments of the function.

    Returns:
      A decorator, which runs the function immediately. The function returns nothing. It reads and
      writes references that it closes over, made by ``new_ref`` or `run_state`.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import lax
      >>> from olympus_ir.references.primitives import new_ref
      >>> from olympus_pallas import core_map, tpu
      >>> ref = new_ref(np.zeros(2, np.int32))
      >>> @core_map(tpu.create_tensorcore_mesh("core", num_cores=2), interpret=True)
      ... def write_numbers():
      ...     ref[lax.axis_index("core")] = lax.axis_index("core")
      >>> ref
      Ref([0, 1], dtype=int32)
    """

    def run_on_cores(function: Callable[..., None]) -> None:
        shapes = tuple(scratch_shapes) if isinstance(scratch_shapes, list) else scratch_shapes
        leaves, tree = pytrees.tree_flatten(shapes)
        avals = [leaf.get_ref_aval() for leaf in leaves]

        def run(*refs: Any) -> Any:
            buffers = pytrees.tree_unflatten(tree, refs)
            if isinstance(buffers, Mapping):
                return function(**buffers)
            return function(*(buffers if isinstance(buffers, tuple) else (buffers,)))

        def bind() -> None:
            program, consts = _traced(run, avals, mesh, "core_map", function)
            if debug:
                print(f"\nThe kernel olympuspr for core_map {function_source(function)}:")
                print(program)
            core_map_p.bind(
                *consts,
                jaxpr=program,
                mesh=mesh,
                compiler_params=compiler_params,
                interpret=interpret,
                debug=debug,
                cost_estimate=cost_estimate,
                name=name or function.__name__,
                metadata=hashable_metadata(metadata),
            )

        jit(bind, inline=True)()

    return run_on_cores


@discharge_rules.define(core_map_p)
def _discharge_core_map(equation: Any, operands: Sequence[Any]) -> Any:
    params = dict(equation.params)
    program = params.pop("jaxpr")
    mesh = params.pop("mesh")
    for var in program.constvars:
        if not var.aval.is_ref:
            raise ValueError(
                f"a function of core_map closes over an array of type {var.aval.str_short()}; make "
                "a reference of it with new_ref, and read that"
            )
    whole = constants_as_inputs(program)
    return _with_arrays(
        whole,
        equation,
        operands,
        {**params, "meshes": (mesh,), "external_meshes": (), "out_avals": ()},
    )


@discharge_rules.define(mpmd_map_p)
def _discharge_mpmd_map(equation: Any, operands: Sequence[Any]) -> Any:
    params = dict(equation.params)
    programs = params.pop("jaxprs")
    if not any(atom.aval.is_ref for atom in equation.invars):
        return [None] * len(operands), mpmd_map_p.bind(*operands, **equation.params)
    return _with_arrays(programs, equation, operands, params)


def _with_arrays(
    programs: Any, equation: Any, operands: Sequence[Any], params: dict[str, Any]
) -> Any:
    """Calls a kernel on arrays; the references that it uses become outputs that alias inputs."""
    programs = (programs,) if isinstance(programs, Olympuspr) else programs
    positions = [position for position, atom in enumerate(equation.invars) if atom.aval.is_ref]
    count, first = len(operands), len(params["out_avals"])
    spaces = [mesh.default_memory_space for mesh in params["meshes"]]
    aliases = {**params.pop("input_output_aliases", {})}
    aliases.update({position: first + number for number, position in enumerate(positions)})
    discharged = tuple(
        _with_outputs(program, positions, count, first, space)
        for program, space in zip(programs, spaces, strict=True)
    )
    avals = [equation.invars[position].aval.inner_aval for position in positions]
    results = mpmd_map_p.bind(
        *operands,
        jaxprs=discharged,
        input_output_aliases=_Aliases(aliases),
        **{**params, "out_avals": (*params["out_avals"], *map(_plain, avals))},
    )
    changes: list[Any] = [None] * count
    for index, value in zip(positions, results[first:], strict=True):
        changes[index] = value
    return changes, results[:first]


def _with_outputs(
    program: Olympuspr, positions: Sequence[int], num_inputs: int, num_outputs: int, space: Any
) -> Olympuspr:
    """Returns the program with the references at ``positions`` as outputs instead of inputs.

    New, unused references in memory ``space`` take their places among the inputs.
    """
    invars = list(program.invars)
    outputs = [invars[position] for position in positions]
    for position in positions:
        invars[position] = Var(AbstractRef(_plain(invars[position].aval.inner_aval), space))
    end = num_inputs + num_outputs
    return program.replace(invars=[*invars[:end], *outputs, *invars[end:]])
