# SPDX-License-Identifier: Apache-2.0
"""Executables of traced programs: one for each placement, compiled once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_ir._jaxlib import config_trace_context
from olympus_ir.diagnostics import source_info, user_warnings
from olympus_ir.loading import deferred
from olympus_ir.programs.calls.options import JitOptions
from olympus_ir.programs.calls.trace_history import Compilation
from olympus_ir.programs.calls.traced_programs import TracedProgram
from olympus_ir.programs.tracing import Tracer, escaped_tracer_error
from olympus_ir.settings import config_states
from olympus_ir.settings.config_cache_flags import compilation_cache_dir, enable_compilation_cache
from olympus_ir.settings.config_flags import (
    include_full_tracebacks_in_locations,
    traceback_in_locations_limit,
)
from olympus_ir.settings.naming import naming
from olympus_ir.types.avals import get_aval
from olympus_ir.types.shape_struct import ShapeDtypeStruct

from ..compiling.placement.checks import name_of_operand
from ..compiling.placement.placements import Placement, platform_of
from ..compiling.placement.resolution import committed_sharding, resolve_placement
from ..platforms.backends import default_sharding

# MLIR and the lowering rules are imported at the first compilation, for a fast import of OLYMPUS.
if TYPE_CHECKING:
    from ..compiling import program_lowering
    from ..compiling.lowering.lowered import Lowered
    from ..compiling.recognition import known_programs, program_digest
    from . import compiled as compiled_programs
else:
    program_lowering = deferred("..compiling.program_lowering", milliseconds=180.0)
    known_programs = deferred("..compiling.recognition.known_programs", milliseconds=8.0)
    program_digest = deferred("..compiling.recognition.program_digest", milliseconds=3.0)
    compiled_programs = deferred(".compiled", milliseconds=12.0)

__all__ = ["compiled_for", "compiled_in_a_call", "lowered_for", "lowered_module", "staged_module"]

_concrete_mesh = config_states.concrete_mesh


def compiled_for(
    program: TracedProgram, options: JitOptions, leaves: Sequence[Any]
) -> compiled_programs.Compiled:
    """Returns a program's executable for the shardings of the given operands.

    Args:
      program: the program.
      options: the options of the function.
      leaves: the flat operands.

    Raises:
      UnexpectedTracerError: an operand is a tracer.
      TypeError: an operand is a type without a value.
    """
    for position, leaf in enumerate(leaves):
        if isinstance(leaf, Tracer):
            raise escaped_tracer_error(leaf, "was passed to a jitted function")
        if type(leaf) is ShapeDtypeStruct:
            raise _lacks_value(program, position, leaf)
    shardings = [committed_sharding(leaf) for leaf in leaves]
    # The placement depends on this key, on the program and on its options.
    key = (_concrete_mesh.value, default_sharding(), *shardings)
    executables = program.executables
    compiled = executables.get(key)
    if compiled is None:
        placement = resolve_placement(options, program, shardings)
        compiled = executables.get(placement)
        if compiled is None:
            if program.record is not None:
                program.record.compilations.append(Compilation(key))
            compiled = executables[placement] = _compile(program, options, placement)
        executables[key] = compiled
    return compiled


def compiled_in_a_call(
    program: TracedProgram, placement: Placement
) -> compiled_programs.Compiled | None:
    """Returns the executable that a call of a program has compiled, with the program's own lines.

    Returns None if no call has compiled one for the placement in this process.
    """
    found = program.executables.get(placement)
    if isinstance(found, compiled_programs.Compiled) and found.seconds is not None:
        return found
    return None


def _lacks_value(program: TracedProgram, position: int, leaf: ShapeDtypeStruct) -> TypeError:
    """Returns the error for a `ShapeDtypeStruct` that was passed instead of an array."""
    return TypeError(
        f"Argument '{name_of_operand(program, position)}' of shape {get_aval(leaf).str_short()} "
        f"of type {type(leaf)} is not a valid {naming.library} type. "
        "To compute with types alone, use olympus.eval_shape."
    )


def _compile(
    program: TracedProgram, options: JitOptions, placement: Placement
) -> compiled_programs.Compiled:
    digest = None
    # The cache in a directory that the user has named works without digests of programs.
    if enable_compilation_cache.value and not compilation_cache_dir.value:
        digest = program_digest.program_digest(program, options, placement)
    if digest is not None:
        known = known_programs.find(digest, program, placement, options.caller_waits)
        if known is not None:
            return compiled_programs.assembled(
                known.lowered, known.loaded, placement, entry=known.entry
            )
    warnings = user_warnings.count
    lowered = lowered_for(program, (platform_of(placement.devices[0]),), placement, options)
    compiled = compiled_programs.compile_lowered(
        lowered,
        placement,
        compiler_options=dict(options.compiler_options),
        keeps_bytes=options.is_cached,
        caller_waits=options.caller_waits,
    )
    # A program of which lowering warns is lowered in each process, so that each process warns.
    if digest is not None and compiled.entry is not None and user_warnings.count == warnings:
        known_programs.keep(digest, lowered, compiled.entry)
    return compiled


def lowered_for(
    program: TracedProgram, platforms: tuple[str, ...], placement: Placement, options: JitOptions
) -> Lowered:
    """Returns the lowered module of a program; placements on other devices share the module.

    Args:
      program: the program.
      platforms: the platforms on which the module will run.
      placement: the devices, shardings and layouts.
      options: the options of the function.
    """
    key = (_LOWERED, *_key_of_module(platforms, placement, options))
    lowered = program.executables.get(key)
    if lowered is None:
        lowered = lowered_module(program, platforms, placement, options)
        if not lowered.is_for_devices:
            program.executables[key] = lowered
    return lowered


def staged_module(
    program: TracedProgram, platforms: tuple[str, ...], placement: Placement, options: JitOptions
) -> Lowered:
    """Returns the lowered module of a program, for a stage that the user requested.

    The debug text of a module shows the source line that requested the module. The last module is
    reused only if the source line and the configuration are the same.

    Args:
      program: the program.
      platforms: the platforms on which the module will run.
      placement: the devices, shardings and layouts.
      options: the options of the function.
    """
    key = (_STAGED, *_key_of_module(platforms, placement, options))
    caller = (
        source_info.capture(),
        config_trace_context(),
        include_full_tracebacks_in_locations.value,
        traceback_in_locations_limit.value,
    )
    last_caller, lowered = program.executables.get(key, (None, None))
    if lowered is None or last_caller != caller:
        lowered = lowered_module(program, platforms, placement, options)
        if not lowered.is_for_devices:
            program.executables[key] = (caller, lowered)
    return lowered


def _key_of_module(
    platforms: tuple[str, ...], placement: Placement, options: JitOptions
) -> tuple[Any, ...]:
    """Returns everything on which a lowered module depends, except the program."""
    return (platforms, options.keep_unused, options.compile_budget, placement.key_of_module())


def lowered_module(
    program: TracedProgram, platforms: tuple[str, ...], placement: Placement, options: JitOptions
) -> Lowered:
    """Lowers a program; see `lowered_for`."""
    return program_lowering.lower(
        program.closed,
        name=program.params["name"],
        platforms=platforms,
        donated=program.params["donated_invars"],
        keep_unused=options.keep_unused,
        placement=placement,
        compile_budget=options.compile_budget,
    )


# The first elements of the keys under which `TracedProgram.executables` stores the modules of
# `lowered_for` and of `staged_module`. They distinguish these keys from the keys of executables.
_LOWERED = "lowered"
_STAGED = "staged"
