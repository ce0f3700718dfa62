# SPDX-License-Identifier: Apache-2.0
"""From a program to an executable: one description of a compiled computation.

`lower` makes a StableHLO module of a program; `compile_lowered` an executable of the module. `jit`,
eager operations and ahead-of-time stages all come through here, so what determines a compiled
computation is said in one place: the program, which operands are kept and donated, where it runs,
and the compiler's options.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.diagnostics import phases
from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.lax.tokens import Token
from olympus_ir.programs.dead_code import dce_olympuspr
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.settings.config_flags import captured_constants_warn_bytes, dump_ir_to
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_ir.types.effects import allocation_effect
from olympus_ir.types.layouts import placed
from olympus_ir.types.memory_spaces import MEMORY_KINDS, MemorySpace, on_host, space_of_kind
from olympus_ir.types.shape_struct import ShapeDtypeStruct

from .._jaxlib import ArrayImpl, GSPMDSharding, JaxRuntimeError, NamedSharding, is_description
from ..arrays.layouts import Layout, constrains_layouts, layouts_in_use
from ..arrays.spec_search import hlo_from_proto, spec_of_hlo
from ..arrays.transfer import put_leaf
from ..calls.dispatch import Executable, compile_module
from ..foreign.callback_errors import find_cause
from ..platforms import backends
from .lowering import mlir
from .lowering.context import ModuleLowering, constant_handlers
from .lowering.repetition import outlined
from .lowering.rules.calls import ordered_effects_of
from .lowering.shardings import sharding_attribute
from .placement import Placement

# Constants up to this many bytes are written into the module; larger ones are passed as operands,
# which spares the compiler from reading (and folding) them.
_LARGEST_INLINE_CONSTANT = 1024

_PLATFORM_OF_BACKEND = {"cpu": "cpu", "cuda": "cuda", "gpu": "cuda", "rocm": "rocm", "tpu": "tpu"}


class Lowered:
    """A program as a StableHLO module, and how it is called.

    Attributes:
      module: the MLIR module.
      name: the name of the computation.
      kept: for each operand, whether the computation takes it.
      constants: arrays passed before the operands.
      in_avals: the types of all operands.
      out_avals: the types of the results.
      donated: for each operand, whether its memory is given away.
      effects: all effects.
      ordered_effects: those whose tokens are the first operands and results.
      host_callbacks: Python functions that the computation calls.
      keep_alive: objects that must live as long as the computation.
      platforms: the platforms it was lowered for.
      needs_refinement: whether it has dynamic shapes, to be inferred from those of the operands.
    """

    __slots__ = (
        "closed",
        "constants",
        "donated",
        "effects",
        "host_callbacks",
        "in_avals",
        "keep_alive",
        "kept",
        "module",
        "name",
        "needs_refinement",
        "ordered_effects",
        "out_avals",
        "platforms",
    )

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self, name, value)


def lower(
    closed: ClosedOlympuspr,
    *,
    name: str,
    platforms: Sequence[str],
    donated: Sequence[bool] | None = None,
    keep_unused: bool = False,
    placement: Placement | None = None,
    inline_constants: bool = False,
    name_of_operand: Callable[[int], str] = "args[{}]".format,
) -> Lowered:
    """Lowers a program to StableHLO.

    Args:
      closed: the program.
      name: of the computation.
      platforms: the platforms it shall run on.
      donated: for each operand, whether results may take its memory.
      keep_unused: whether operands that nothing uses are operands of the computation.
      placement: how operands and results lie over the devices, where there are several.
      inline_constants: whether the module holds all constants, the large ones too.
      name_of_operand: from the position of an operand to what messages call it.
    """
    if allocation_effect in closed.effects:
        from olympus_ir.references.discharge import (
            discharge_closed,  # only for programs with references
        )

        closed = discharge_closed(closed).closed
    if placement is not None and placement.out_shardings:
        closed = _with_results_in_memories(closed, placement.out_shardings)
    olympuspr = closed.jaxpr
    in_avals, out_avals = olympuspr.in_avals, olympuspr.out_avals
    is_symbolic = has_symbolic_shapes(in_avals)
    if not is_symbolic and has_symbolic_shapes(out_avals):
        from olympus_ir.symbolic.solving import UnexpectedDimVar

        raise UnexpectedDimVar(min(set().union(*map(_variables_of, out_avals))), ())
    # An operand that nothing uses may be where the value of a dimension variable is found.
    keep_unused = keep_unused or is_symbolic
    donated = tuple(donated or (False,) * len(in_avals))
    olympuspr, used = dce_olympuspr(
        olympuspr, [True] * len(out_avals), instantiate=bool(keep_unused)
    )
    olympuspr = outlined(olympuspr, platforms)
    kept = (True,) * len(in_avals) if keep_unused else tuple(used)
    used_constants = _used_constants(olympuspr, closed)
    if used_constants:
        _warn_of_large_constants(used_constants)
    inline_vars, inline_values, operand_vars, operand_values = [], [], [], []
    for var, value in used_constants:
        if inline_constants or _is_inline(value):
            inline_vars.append(var)
            inline_values.append(value)
        else:
            operand_vars.append(var)
            operand_values.append(value)
    program = ClosedOlympuspr(
        olympuspr.replace(constvars=inline_vars, invars=[*operand_vars, *olympuspr.invars]),
        inline_values,
    )
    ordered = ordered_effects_of(program)
    kept_avals = [aval for aval, keep in zip(in_avals, kept, strict=True) if keep]
    kept_donated = [each for each, keep in zip(donated, kept, strict=True) if keep]
    attributes: list[dict[str, Any]] = [{} for _ in range(len(operand_vars) + len(kept_avals))]
    if any(kept_donated) and placement is not None and len(placement.devices) > 1:
        # Which result fits is seen when the compiler has decided how results lie.
        for position, give in enumerate(kept_donated):
            if give:
                donor = {"jax.buffer_donor": mlir.boolean(True)}
                attributes[len(operand_vars) + position] = donor
    elif any(kept_donated):
        _donate(attributes, len(operand_vars), len(ordered), kept_avals, kept_donated, out_avals)
    mesh = None if placement is None or len(placement.devices) == 1 else placement.mesh
    result_attributes = None
    if mesh is not None and placement is not None:
        kept_shardings = [s for s, keep in zip(placement.in_shardings, kept, strict=True) if keep]
        result_attributes = _annotate(
            attributes, operand_values, kept_avals, kept_shardings, placement, out_avals
        )
    if on_host(kept_avals):
        _annotate_memories(attributes[len(operand_vars) :], kept_avals)
    if on_host(out_avals):
        result_attributes = result_attributes or [{} for _ in out_avals]
        _annotate_memories(result_attributes, out_avals)
    shown = f"jit({name})"
    phases.note(
        "Compiling %s with global shapes and types %s. Argument mapping: %s.",
        shown,
        tuple(kept_avals),
        None if placement is None else placement.in_shardings,
    )
    if placement is not None:
        kept_layouts = [
            layout for layout, keep in zip(placement.in_layouts, kept, strict=False) if keep
        ]
        _ask_for_layouts(attributes[len(operand_vars) :], kept_layouts, kept_avals)
        out_layouts: Sequence[Any] = placement.out_layouts
        if constrains_layouts(program):
            given = out_layouts or (None,) * len(out_avals)
            out_layouts = [Layout.AUTO if each is None else each for each in given]
        if out_layouts:
            result_attributes = result_attributes or [{} for _ in out_avals]
            _ask_for_layouts(result_attributes, out_layouts, out_avals)
    with (
        phases.lowering(shown),
        mlir.lowering_lock,
        mlir.context(),
        mlir.unknown_location(),
    ):
        module: Any
        if is_symbolic:
            from .symbolic_shapes import symbolic_module  # only for such programs

            shapes = [()] * len(operand_vars) + [aval.shape for aval in kept_avals]
            module = symbolic_module(
                f"jit_{name}",
                platforms,
                ordered,
                shapes,
                lambda position: name_of_operand(position - len(operand_vars)),
            )
        else:
            module = ModuleLowering(f"jit_{name}", platforms, ordered)
        module.set_partitions(1 if placement is None else len(placement.devices))
        module.replicated = None if placement is None else placement.replicated
        if mesh is not None:
            module.mesh_symbol(mesh)
        module.add_public_function(
            program,
            shown,
            ordered,
            arg_attributes=attributes if any(attributes) else None,
            result_attributes=_with_names(result_attributes, closed.debug_info, out_avals),
        )
        _name_operands(module.module, closed.debug_info, kept)
    return Lowered(
        closed=closed,
        module=module.module,
        name=name,
        kept=kept,
        constants=operand_values,
        in_avals=in_avals,
        out_avals=out_avals,
        donated=donated,
        effects=program.effects,
        ordered_effects=tuple(ordered),
        host_callbacks=module.host_callbacks,
        keep_alive=module.keep_alive,
        platforms=tuple(platforms),
        needs_refinement=module.needs_refinement,
    )


def _ask_for_layouts(
    attributes: Sequence[dict[str, Any]], layouts: Sequence[Any], avals: Sequence[Any]
) -> None:
    """Says in which order the elements of operands or results lie, where that is asked for."""
    for attribute, layout, aval in zip(attributes, layouts, avals, strict=False):
        if layout is None:
            continue
        layouts_in_use.in_use = True
        text = "auto" if layout is Layout.AUTO else layout._to_xla_layout(aval.dtype)
        attribute["mhlo.layout_mode"] = mlir.string(text)
        # Whether memory can be shared is seen when the compiler has decided on layouts.
        if attribute.pop("tf.aliasing_output", None) is not None:
            attribute["jax.buffer_donor"] = mlir.boolean(True)


def has_symbolic_shapes(avals: Sequence[Any]) -> bool:
    """Whether any of the types has a symbolic dimension."""
    return any(
        type(size) is not int and hasattr(size, "_is_symbolic_dimension")
        for aval in avals
        for size in getattr(aval, "shape", ())
    )


def _variables_of(aval: Any) -> set[str]:
    """The dimension variables of a type."""
    sizes = [size for size in aval.shape if hasattr(size, "_is_symbolic_dimension")]
    return set().union(*(size.variables() for size in sizes))


def _with_names(
    attributes: list[dict[str, Any]] | None, info: DebugInfo, out_avals: Sequence[Any]
) -> list[dict[str, Any]] | None:
    """The attributes of results with their paths in the function's result, where known."""
    paths = info.result_paths
    if paths is None or len(paths) != len(out_avals):
        return attributes
    return [
        {**each, "jax.result_info": mlir.string(path)}
        for each, path in zip(attributes or [{}] * len(paths), paths, strict=True)
    ]


def _name_operands(module: Any, info: DebugInfo, kept: Sequence[bool]) -> None:
    """Gives operands the names of the function's arguments: compiled programs show them."""
    names = info.arg_names
    if not names or len(names) > len(kept):
        return
    # What the function closes over comes before its arguments.
    flags = kept[len(kept) - len(names) :]
    shown = [name for name, keep in zip(names, flags, strict=True) if keep]
    main = next(
        each for each in module.body.operations if str(each.attributes["sym_name"]) == _MAIN
    )
    arguments = list(main.operation.regions[0].blocks[0].arguments)
    for argument, name in zip(arguments[len(arguments) - len(shown) :], shown, strict=True):
        argument.set_location(mlir.ir.Location.name(name, context=mlir.context()))


_MAIN = '"main"'


def _annotate(
    attributes: list[dict[str, Any]],
    constants: Sequence[Any],
    in_avals: Sequence[ShapedArray],
    in_shardings: Sequence[Any],
    placement: Placement,
    out_avals: Sequence[ShapedArray],
) -> list[dict[str, Any]]:
    """Says how operands lie over the mesh; returns the same for the results."""
    for position, value in enumerate(constants):
        sharding = placement.constant_sharding(value)
        attributes[position]["sdy.sharding"] = sharding_attribute(sharding, get_aval(value))
    for position, (aval, sharding) in enumerate(zip(in_avals, in_shardings, strict=True)):
        attribute = sharding_attribute(sharding or placement.replicated, aval)
        attributes[len(constants) + position]["sdy.sharding"] = attribute
    return [
        {} if sharding is None else {"sdy.sharding": sharding_attribute(sharding, aval)}
        for sharding, aval in zip(placement.out_shardings, out_avals, strict=True)
    ]


def _annotate_memories(attributes: Sequence[dict[str, Any]], avals: Sequence[Any]) -> None:
    """Says which operands, or results, are in the host's memory."""
    for each, aval in zip(attributes, avals, strict=True):
        if getattr(aval, "memory_space", None) is MemorySpace.Host:
            each["mhlo.memory_kind"] = mlir.string(MEMORY_KINDS[MemorySpace.Host])


def _with_results_in_memories(closed: ClosedOlympuspr, shardings: Sequence[Any]) -> ClosedOlympuspr:
    """The program with its results in the memories that shardings ask for."""
    spaces = [
        getattr(aval, "memory_space", None)
        if sharding is None
        else space_of_kind(sharding.memory_kind)
        for aval, sharding in zip(closed.out_avals, shardings, strict=True)
    ]
    if all(
        getattr(aval, "memory_space", space) is space
        for aval, space in zip(closed.out_avals, spaces, strict=True)
    ):
        return closed

    def function(*operands: Any) -> list[Any]:
        results = eval_olympuspr(closed.jaxpr, closed.consts, *operands)
        return [
            result
            if getattr(aval, "memory_space", space) is space
            else lax.device_put(result, space or MemorySpace.Device)
            for result, aval, space in zip(results, closed.out_avals, spaces, strict=True)
        ]

    olympuspr, constants = trace_to_olympuspr(function, closed.in_avals, closed.jaxpr.debug_info)
    return ClosedOlympuspr(olympuspr, constants)


def _used_constants(olympuspr: Any, closed: ClosedOlympuspr) -> list[tuple[Any, Any]]:
    values = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    return [(var, values[var]) for var in olympuspr.constvars]


def _warn_of_large_constants(constants: Sequence[tuple[Any, Any]]) -> None:
    """Says so where a program has more bytes of constants than the configuration expects."""
    limit = captured_constants_warn_bytes.value
    if limit < 0:
        return
    total = sum(
        var.aval.size * var.aval.dtype.itemsize
        for var, _ in constants
        if isinstance(var.aval, ShapedArray)
    )
    if total >= limit:
        warnings.warn(
            f"A large amount of constants were captured during lowering ({total / 1e6:.2f}MB "
            "total). Pass them as arguments; or, if this is intentional, disable this warning by "
            "setting OLYMPUS_CAPTURED_CONSTANTS_WARN_BYTES=-1.",
            stacklevel=2,
        )


def _is_inline(value: Any) -> bool:
    if type(value) in constant_handlers or type(value) is Token:
        return True
    if type(value) is ArrayImpl and value._sharding.num_devices > 1:
        return False  # its parts stay where they are
    if type(value) is ShapeDtypeStruct:
        raise TypeError(f"{value!r} has no value and cannot be a constant of a compiled function")
    aval = get_aval(value)
    return aval.size * aval.dtype.itemsize <= _LARGEST_INLINE_CONSTANT


def _donate(
    attributes: list[dict[str, Any]],
    num_constants: int,
    num_tokens: int,
    avals: Sequence[ShapedArray],
    donated: Sequence[bool],
    out_avals: Sequence[ShapedArray],
) -> None:
    """Lets results take the memory of donated operands of their type."""
    free: dict[Any, list[int]] = {}
    for position, aval in enumerate(out_avals):
        free.setdefault((aval.shape, aval.dtype), []).append(position + num_tokens)
    unusable = []
    for position, (aval, give) in enumerate(zip(avals, donated, strict=True)):
        if not give:
            continue
        targets = free.get((aval.shape, aval.dtype))
        if targets:
            attribute = {"tf.aliasing_output": mlir.i32(targets.pop(0))}
        else:
            attribute = {"jax.buffer_donor": mlir.boolean(True)}
            unusable.append(aval)
        attributes[num_constants + position] = attribute
    if unusable:
        shown = ", ".join(aval.str_short() for aval in unusable)
        warnings.warn(
            f"Some donated buffers were not usable: {shown}. No result has their shape and dtype.",
            stacklevel=2,
        )


class Compiled:
    """An executable and how to call it with operands of the types it was compiled for."""

    __slots__ = ("constants", "executable", "lowered", "placement")

    def __init__(
        self, lowered: Lowered, executable: Executable, placement: Placement, constants: list[Any]
    ) -> None:
        self.lowered = lowered
        self.executable = executable
        self.placement = placement
        self.constants = constants

    def fastpath(self, out_tree: Any, leaves: Sequence[Any]) -> Any:
        """What C++ needs for calls like the last one; None where they have to come here."""
        if layouts_in_use.in_use:
            from ..arrays.relayout import lies_as_wanted  # only where there are layouts to look at

            # C++ passes operands on in whatever layout they have.
            kept = zip(leaves, self.lowered.kept, strict=True)
            if not lies_as_wanted(self, [leaf for leaf, keep in kept if keep]):
                return None
        return self.executable.fastpath(out_tree, self.lowered.kept, self.constants)

    def call(self, leaves: Sequence[Any]) -> list[Any]:
        """Runs the computation on flat operands (all, kept or not)."""
        kept = self.lowered.kept
        operands = [leaf for leaf, keep in zip(leaves, kept, strict=True) if keep]
        return self.executable.call([*self.constants, *operands])


def compile_lowered(
    lowered: Lowered, placement: Placement, *, compiler_options: dict[str, Any] | None = None
) -> Compiled:
    """Compiles a module for the devices of a placement.

    Args:
      lowered: the module.
      placement: where it runs.
      compiler_options: XLA's options by name.
    """
    if dump_ir_to.value:
        from .dumps import dump_program  # only where a folder is given

        dump_program(lowered)
    spans_processes = _spans_processes(placement.devices)
    if spans_processes and backends.distributed_runtime is not None:
        backends.distributed_runtime.check_same_program(lowered.name, str(lowered.module))
    module = lowered.module
    if lowered.needs_refinement:
        from .symbolic_shapes import refined  # only for such programs

        module = refined(lowered)
    try:
        loaded = compile_module(
            module,
            placement.devices,
            name=f"jit({lowered.name})",
            partitions=len(placement.devices),
            compiler_options=compiler_options,
            host_callbacks=lowered.host_callbacks,
        )
    except JaxRuntimeError as error:
        cause = find_cause(error)  # of a function that inspects shardings
        if cause is not None:
            raise cause from error
        raise
    constant_shardings = [placement.constant_sharding(value) for value in lowered.constants]
    constants = [
        value if is_description(placement.devices[0]) else put_leaf(value, sharding)
        for value, sharding in zip(lowered.constants, constant_shardings, strict=True)
    ]
    in_avals = [aval for aval, keep in zip(lowered.in_avals, lowered.kept, strict=True) if keep]
    in_shardings = [
        _in_memory_of(lowered.in_avals[position], placement.operand_sharding(position))
        for position, keep in enumerate(lowered.kept)
        if keep
    ]
    out_shardings = _result_shardings(loaded, lowered, placement)
    wrapped = Executable(
        loaded,
        in_avals=[get_aval(value) for value in constants] + in_avals,
        in_shardings=constant_shardings + in_shardings,
        out_avals=list(map(_placed_aval, lowered.out_avals, out_shardings)),
        out_shardings=out_shardings,
        committed=placement.committed,
        ordered_effects=lowered.ordered_effects,
        calls_python=bool(lowered.host_callbacks),
        keep_alive=lowered.keep_alive,
        spans_processes=spans_processes,
    )
    return Compiled(lowered, wrapped, placement, constants)


def _placed_aval(aval: Any, sharding: Any) -> Any:
    return placed(aval, sharding) if isinstance(aval, ShapedArray) else aval


def _in_memory_of(aval: Any, sharding: Any) -> Any:
    """The sharding of a value, in the memory that its type tells."""
    if getattr(aval, "memory_space", None) is not MemorySpace.Host:
        return sharding
    return sharding.with_memory_kind(MEMORY_KINDS[MemorySpace.Host])


def _spans_processes(devices: Sequence[Any]) -> bool:
    first = devices[0].process_index
    return any(device.process_index != first for device in devices)


def _result_shardings(loaded: Any, lowered: Lowered, placement: Placement) -> list[Any]:
    """Where the results lie: as asked for, else as the compiler reports."""
    if placement.mesh is None:
        replicated = placement.replicated
        if not on_host(lowered.out_avals):
            return [replicated] * len(lowered.out_avals)
        return [_in_memory_of(aval, replicated) for aval in lowered.out_avals]
    # On one device there is nothing to report.
    reported = loaded.get_output_shardings() if len(placement.devices) > 1 else None
    if reported is not None:
        reported = reported[len(lowered.ordered_effects) :]
    shardings = []
    for position, aval in enumerate(lowered.out_avals):
        asked = placement.out_shardings[position] if placement.out_shardings else None
        if asked is not None:
            shardings.append(asked)
        elif reported is None:
            shardings.append(_in_memory_of(aval, placement.replicated))
        else:
            hlo = hlo_from_proto(reported[position])
            sharding = _result_sharding(hlo, placement, mlir.physical_aval(aval))
            typed = _as_typed(sharding, placement, aval)
            sharding = typed or _in_users_words(sharding, lowered, placement, aval)
            shardings.append(_in_memory_of(aval, sharding))
    return shardings


def _result_sharding(hlo: Any, placement: Placement, aval: Any) -> Any:
    """The sharding that an executable gave a result: in terms of the mesh where possible."""
    spec = spec_of_hlo(hlo, placement.mesh, aval.ndim)
    if spec is not None:
        return NamedSharding(placement.mesh, spec)
    return GSPMDSharding(placement.replicated._internal_device_list, hlo)


def _as_typed(sharding: Any, placement: Placement, aval: Any) -> Any:
    """The sharding that a result's type names, where it means the same; else None."""
    layout = getattr(aval, "layout", None)
    if layout is None or layout.mesh.axis_names != placement.mesh.axis_names:
        return None
    typed = NamedSharding(placement.mesh, layout.spec)
    return typed if typed.is_equivalent_to(sharding, aval.ndim) else None


def _in_users_words(sharding: Any, lowered: Lowered, placement: Placement, aval: Any) -> Any:
    """The sharding of an operand that means the same: ``P('x', None)`` rather than ``P('x')``."""
    for given, operand in zip(placement.in_shardings, lowered.in_avals, strict=True):
        if (
            type(given) is NamedSharding
            and operand.ndim == aval.ndim
            and given.is_equivalent_to(sharding, aval.ndim)
        ):
            return given
    return sharding


def platform_of(device: Any) -> str:
    """The platform that lowering rules know, of a device."""
    platform: str = device.platform
    return _PLATFORM_OF_BACKEND.get(platform, platform)
