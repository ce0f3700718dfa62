# SPDX-License-Identifier: Apache-2.0
"""Lowering of a program to a StableHLO module.

`jit`, eager operations, ahead-of-time stages and export lower their programs here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from olympus_ir import lax
from olympus_ir.diagnostics import phases, source_info
from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.diagnostics.encodable import encodable
from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.lax.tokens import Token
from olympus_ir.loading import deferred
from olympus_ir.programs.dead_code import dce_olympuspr
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Olympuspr
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.settings.config_flags import (
    captured_constants_report_frames,
    captured_constants_warn_bytes,
)
from olympus_ir.settings.naming import naming
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_ir.types.effects import allocation_effect
from olympus_ir.types.memory_spaces import MemorySpace, space_of_kind
from olympus_ir.types.shape_struct import ShapeDtypeStruct

from .._jaxlib import ArrayImpl, NamedSharding
from ..arrays.layouts import Layout, constrains_layouts
from ..foreign.callback_errors import AnnouncedErrors, DeferredErrors
from .interruption import await_abandoned
from .lowering import mlir
from .lowering.context import ModuleLowering, constant_handlers
from .lowering.lowered import LARGEST_INLINE_CONSTANT, Lowered
from .lowering.program_passes import prepared
from .lowering.rules.calls import ordered_effects_of
from .main_function import (
    Operand,
    Result,
    annotate_layouts,
    annotate_memories,
    annotate_paths,
    annotate_shardings,
    donate,
)
from .placement.placements import Placement

if TYPE_CHECKING:
    from olympus_ir.references import discharge
    from olympus_ir.symbolic import solving

    from . import symbolic_shapes
else:
    discharge = deferred("olympus_ir.references.discharge", milliseconds=25.0)
    solving = deferred("olympus_ir.symbolic.solving", milliseconds=35.0)
    symbolic_shapes = deferred(".symbolic_shapes", milliseconds=45.0)

__all__ = ["Lowered", "has_symbolic_shapes", "lower"]

# The number of constants that a warning lists.
_MOST_REPORTED = 5
# The number of frames that the warning shows if a flag requests all frames.
_ALL_FRAMES = 1000


def lower(
    closed: ClosedOlympuspr,
    *,
    name: str,
    platforms: Sequence[str],
    donated: Sequence[bool] | None = None,
    keep_unused: bool = False,
    placement: Placement | None = None,
    inline_constants: bool = False,
    portable: bool = False,
    compile_budget: float | None = None,
    name_of_operand: Callable[[int], str] = "args[{}]".format,
) -> Lowered:
    """Lowers a program to StableHLO.

    Args:
      closed: the program.
      name: the name of the computation.
      platforms: the platforms on which the module will run.
      donated: for each operand, whether results may reuse its memory.
      keep_unused: whether the module takes operands that it does not use.
      placement: the devices, and the shardings and layouts of operands and results; None for one
        device.
      inline_constants: whether the module holds all constants, including large ones.
      portable: whether other processes must be able to run the module.
      compile_budget: the desired compile time in seconds; None for the default.
      name_of_operand: a function that returns the name of the operand at a position, for error
        messages.

    Raises:
      UnexpectedDimVar: results have symbolic dimensions although operands have none.
    """
    closed = _prepared(closed, placement)
    in_avals, out_avals = closed.in_avals, closed.out_avals
    is_symbolic = has_symbolic_shapes(in_avals)
    # Even an unused operand may determine a dimension variable.
    pruned, kept = _pruned(closed.jaxpr, keep_unused or is_symbolic)
    pruned = prepared(pruned, platforms, compile_budget, cuts := [])
    program, constants = _with_constant_operands(closed, pruned, inline_constants)
    tokens = ordered_effects_of(program)
    donated = tuple(donated or (False,) * len(in_avals))
    operands = _operands(in_avals, kept, donated, placement)
    constant_operands = [Operand(get_aval(value)) for value in constants]
    results = _results(program, out_avals, placement)
    mesh = None if placement is None or len(placement.devices) == 1 else placement.mesh
    _annotate(operands, results, len(tokens), placement)
    if mesh is not None and placement is not None:
        _place_constants(constant_operands, constants, placement)
    annotate_paths(results, closed.debug_info.result_paths)
    shown = f"jit({name})"
    _note(shown, operands, placement)
    operands = [*constant_operands, *operands]
    await_abandoned()
    with phases.lowering(shown), mlir.lowering_lock, mlir.context(), mlir.unknown_location():
        module = _empty_module(
            f"jit_{name}", platforms, tokens, operands, is_symbolic, len(constants), name_of_operand
        )
        module.portable = portable
        module.compile_budget, module.cuts = compile_budget, cuts
        _set_devices(module, placement)
        if mesh is not None:
            module.mesh_symbol(mesh)
            annotate_shardings([*operands, *results], module.mesh_symbol)
        module.add_public_function(
            program,
            shown,
            tokens,
            callers=(source_info.capture(), None),
            arg_attributes=_attributes(operands),
            result_attributes=_attributes(results),
        )
        _name_operands(module.module, closed.debug_info, kept)
    return Lowered(
        closed=closed,
        module=module.module,
        name=name,
        kept=kept,
        constants=constants,
        in_avals=in_avals,
        out_avals=out_avals,
        donated=donated,
        effects=program.effects,
        ordered_effects=tuple(tokens),
        host_callbacks=module.host_callbacks,
        callback_errors=_deferred(module),
        is_for_devices=module.is_for_devices or any(map(_is_over_mesh, constants)),
        keep_alive=module.keep_alive,
        platforms=tuple(platforms),
        needs_refinement=module.needs_refinement,
        cuts=tuple(module.cuts),
        program=program,
    )


def _set_devices(module: ModuleLowering, placement: Placement | None) -> None:
    """Tells a module on how many devices it runs, and what depends on these devices."""
    module.set_partitions(1 if placement is None else len(placement.devices))
    module.replicated = None if placement is None else placement.replicated
    module.callback_errors = _callback_errors(placement)


def _callback_errors(placement: Placement | None) -> DeferredErrors | AnnouncedErrors | None:
    """Returns what handles exceptions of callbacks; None if XLA can raise them during a run.

    Other processes would not learn of a deferred exception and would go on with zeros, so programs
    of several processes stop.
    """
    if placement is None or len(placement.devices) == 1:
        return None
    if len({device.process_index for device in placement.devices}) > 1:
        return AnnouncedErrors()
    return DeferredErrors()


def _deferred(module: ModuleLowering) -> DeferredErrors | None:
    """Returns the store for exceptions that are raised at the end, if the program needs one."""
    errors = module.callback_errors
    return errors if module.host_callbacks and isinstance(errors, DeferredErrors) else None


def _note(shown: str, operands: Sequence[Operand], placement: Placement | None) -> None:
    """Logs the lowering of a program and its operands."""
    phases.note(
        "interpreters.pxla",
        "Compiling %s with global shapes and types %s. Argument mapping: %s.",
        shown,
        tuple(operand.aval for operand in operands),
        None if placement is None else placement.in_shardings,
    )


# ---- preparation of the program ----


def _prepared(closed: ClosedOlympuspr, placement: Placement | None) -> ClosedOlympuspr:
    """Returns the program without references, and with its results in the requested memories."""
    if allocation_effect in closed.effects:
        closed = discharge.discharge_closed(closed).closed
    if placement is not None and placement.out_shardings:
        closed = _with_results_in_memories(closed, placement.out_shardings)
    if has_symbolic_shapes(closed.out_avals) and not has_symbolic_shapes(closed.in_avals):
        variables = set().union(*map(_variables_of, closed.out_avals))
        raise solving.UnexpectedDimVar(min(variables), ())
    return closed


def _with_results_in_memories(closed: ClosedOlympuspr, shardings: Sequence[Any]) -> ClosedOlympuspr:
    """Returns the program with its results moved to the memories of the shardings."""
    spaces = [
        getattr(aval, "memory_space", MemorySpace.Device)
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
            else lax.device_put(result, space)
            for result, aval, space in zip(results, closed.out_avals, spaces, strict=True)
        ]

    olympuspr, constants = trace_to_olympuspr(function, closed.in_avals, closed.jaxpr.debug_info)
    return ClosedOlympuspr(olympuspr, constants)


def has_symbolic_shapes(avals: Sequence[Any]) -> bool:
    """Returns whether any of the types has a symbolic dimension."""
    return any(
        type(size) is not int and hasattr(size, "_is_symbolic_dimension")
        for aval in avals
        for size in getattr(aval, "shape", ())
    )


def _variables_of(aval: Any) -> set[str]:
    """Returns the dimension variables of a type."""
    sizes = [size for size in aval.shape if hasattr(size, "_is_symbolic_dimension")]
    return set().union(*(size.variables() for size in sizes))


def _pruned(olympuspr: Olympuspr, keep_unused: bool) -> tuple[Olympuspr, tuple[bool, ...]]:
    """Returns the program without dead code, and for each input whether it was kept."""
    pruned, used = dce_olympuspr(
        olympuspr, [True] * len(olympuspr.outvars), instantiate=keep_unused
    )
    return pruned, (True,) * len(olympuspr.invars) if keep_unused else tuple(used)


# ---- constants ----


def _with_constant_operands(
    closed: ClosedOlympuspr, pruned: Olympuspr, inline_all: bool
) -> tuple[ClosedOlympuspr, list[Any]]:
    """Returns the program with large constants as first operands, and these constants.

    Args:
      closed: the program.
      pruned: the program without dead code, which is lowered.
      inline_all: whether to keep large constants inside the program.
    """
    values = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    constants = [(var, values[var]) for var in pruned.constvars]
    _warn_of_large_constants(constants, pruned)
    inline, passed = [], []
    for constant in constants:
        (inline if inline_all or _is_inline(constant[1]) else passed).append(constant)
    program = pruned.replace(
        constvars=[var for var, _ in inline],
        invars=[*(var for var, _ in passed), *pruned.invars],
    )
    return (
        ClosedOlympuspr(program, [value for _, value in inline]),
        [value for _, value in passed],
    )


def _warn_of_large_constants(constants: Sequence[tuple[Any, Any]], program: Olympuspr) -> None:
    """Warns if constants have more bytes than the flag ``captured_constants_warn_bytes`` allows.

    The flag ``captured_constants_report_frames`` adds the lines that use the largest constants.
    """
    limit = captured_constants_warn_bytes.value
    if limit < 0 or not constants:
        return
    total = sum(
        var.aval.size * var.aval.dtype.itemsize
        for var, _ in constants
        if isinstance(var.aval, ShapedArray)
    )
    if total >= limit:
        warn_user(
            f"A large amount of constants were captured during lowering ({total / 1e6:.2f}MB "
            "total). Pass them as arguments; or, if this is intentional, disable this warning by "
            "setting OLYMPUS_CAPTURED_CONSTANTS_WARN_BYTES=-1."
            f"{_uses_of_constants([var for var, _ in constants], program)}"
        )


def _uses_of_constants(variables: Sequence[Any], program: Olympuspr) -> str:
    """Lists the largest constants with the user's lines that use them, if a flag requests it."""
    frames = captured_constants_report_frames.value
    arrays = [var for var in variables if isinstance(var.aval, ShapedArray)]
    if not frames:
        return ""
    largest = sorted(arrays, key=lambda var: var.aval.size * var.aval.dtype.itemsize, reverse=True)
    lines = []
    for var in largest[:_MOST_REPORTED]:
        use = next((eqn for eqn in program.eqns if var in eqn.invars), None)
        lines.append(f"\n  {var.aval.str_short()}, which the function returns")
        if use is not None:
            shown = source_info.summarize(use.source_info, frames if frames > 0 else _ALL_FRAMES)
            lines[-1] = f"\n  {var.aval.str_short()}, first used by `{use.primitive}` at\n    " + (
                shown.replace("\n", "\n    ")
            )
    return "".join(lines)


def _is_over_mesh(value: Any) -> bool:
    return type(getattr(value, "sharding", None)) is NamedSharding


def _is_inline(value: Any) -> bool:
    """Returns whether a constant is written into the module."""
    if type(value) in constant_handlers or type(value) is Token:
        return True
    if type(value) is ArrayImpl and value._sharding.num_devices > 1:
        return False  # the constant stays on its devices
    if type(value) is ShapeDtypeStruct:
        raise TypeError(
            "A ShapeDtypeStruct does not have a value and cannot be used as a constant in a "
            f"{naming.library} function. Got {value!r}"
        )
    aval = get_aval(value)
    return aval.size * aval.dtype.itemsize <= LARGEST_INLINE_CONSTANT


# ---- operands and results ----


def _operands(
    avals: Sequence[Any],
    kept: Sequence[bool],
    donated: Sequence[bool],
    placement: Placement | None,
) -> list[Operand]:
    """Returns a record for each operand that the module takes, except constants."""
    count = len(avals)
    shardings: Sequence[Any] = (None,) * count
    layouts: Sequence[Any] = (None,) * count
    if placement is not None:
        if placement.mesh is not None and len(placement.devices) > 1:
            shardings = [sharding or placement.replicated for sharding in placement.in_shardings]
        # Closed-over operands come first. They have no requested layouts.
        program_layouts = placement.in_layouts
        layouts = (*(None,) * (count - len(program_layouts)), *program_layouts)
    return [
        Operand(aval, donated=gives, sharding=sharding, layout=layout)
        for aval, keep, gives, sharding, layout in zip(
            avals, kept, donated, shardings, layouts, strict=True
        )
        if keep
    ]


def _results(
    program: ClosedOlympuspr, avals: Sequence[Any], placement: Placement | None
) -> list[Result]:
    """Returns a record for each result."""
    count = len(avals)
    shardings: Sequence[Any] = (None,) * count
    layouts: Sequence[Any] = (None,) * count
    if placement is not None:
        if placement.mesh is not None and len(placement.devices) > 1:
            shardings = placement.out_shardings
        layouts = placement.out_layouts or layouts
        if constrains_layouts(program):
            layouts = [Layout.AUTO if layout is None else layout for layout in layouts]
    return [
        Result(aval, sharding=sharding, layout=layout)
        for aval, sharding, layout in zip(avals, shardings, layouts, strict=True)
    ]


def _annotate(
    operands: Sequence[Operand],
    results: Sequence[Result],
    num_tokens: int,
    placement: Placement | None,
) -> None:
    """Writes donation, memories and layouts into the records' attributes."""
    if any(operand.donated for operand in operands):
        donate(operands, results, num_tokens)
    for values in (operands, results):
        annotate_memories(values)
        annotate_layouts(values)


def _place_constants(
    operands: Sequence[Operand], constants: Sequence[Any], placement: Placement
) -> None:
    for operand, value in zip(operands, constants, strict=True):
        operand.sharding = placement.constant_sharding(value)


def _attributes(values: Sequence[Operand | Result]) -> list[dict[str, Any]] | None:
    """Returns the attributes of all values; None if no value has any."""
    attributes = [value.attributes for value in values]
    return attributes if any(attributes) else None


# ---- the module and its names ----


def _empty_module(
    name: str,
    platforms: Sequence[str],
    effects: Sequence[Any],
    operands: Sequence[Operand],
    is_symbolic: bool,
    num_constants: int,
    name_of_operand: Callable[[int], str],
) -> Any:
    if not is_symbolic:
        return ModuleLowering(name, platforms, effects)
    shapes = [operand.aval.shape for operand in operands[num_constants:]]
    return symbolic_shapes.symbolic_module(
        name,
        platforms,
        effects,
        [()] * num_constants + shapes,
        lambda position: name_of_operand(position - num_constants),
    )


def _name_operands(module: Any, info: DebugInfo, kept: Sequence[bool]) -> None:
    """Names the operands after the function's arguments, for readers of compiled programs."""
    names = info.arg_names
    if not names or len(names) > len(kept):
        return
    # Closed-over values precede the arguments.
    flags = kept[len(kept) - len(names) :]
    shown = [name for name, keep in zip(names, flags, strict=True) if keep]
    main = next(
        operation
        for operation in module.body.operations
        if str(operation.attributes["sym_name"]) == _MAIN
    )
    arguments = list(main.operation.regions[0].blocks[0].arguments)
    for argument, name in zip(arguments[len(arguments) - len(shown) :], shown, strict=True):
        argument.set_location(mlir.ir.Location.name(encodable(name), context=mlir.context()))


_MAIN = '"main"'
