# SPDX-License-Identifier: Apache-2.0
"""Executables of traced programs: one for each placement, compiled once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_ir.loading import deferred
from olympus_ir.programs.calls.options import JitOptions
from olympus_ir.programs.calls.trace_history import Compilation
from olympus_ir.programs.calls.traced_programs import TracedProgram
from olympus_ir.programs.tracing import Tracer, escaped_tracer_error
from olympus_ir.settings import config_states

from ..compiling.placement import Placement, committed_sharding, platform_of, resolve_placement
from ..platforms.backends import default_sharding

# MLIR and the lowering rules are imported at the first compilation, to keep the import of OLYMPUS
# quick.
if TYPE_CHECKING:
    from ..compiling import program_lowering
    from . import compiled as compiled_programs
else:
    program_lowering = deferred("..compiling.program_lowering", milliseconds=180.0)
    compiled_programs = deferred(".compiled", milliseconds=200.0)

__all__ = ["compiled_for", "lowered_for", "lowered_module"]

_concrete_mesh = config_states.concrete_mesh


def compiled_for(
    program: TracedProgram, options: JitOptions, leaves: Sequence[Any]
) -> compiled_programs.Compiled:
    """Returns the executable of a program for operands with these shardings.

    Args:
      program: the program.
      options: the options of the function.
      leaves: the flat operands.

    Raises:
      UnexpectedTracerError: an operand is a tracer.
    """
    for leaf in leaves:
        if isinstance(leaf, Tracer):
            raise escaped_tracer_error(leaf, "was passed to a jitted function")
    shardings = [committed_sharding(leaf) for leaf in leaves]
    # The placement depends on this key, the program and its options.
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


def _compile(
    program: TracedProgram, options: JitOptions, placement: Placement
) -> compiled_programs.Compiled:
    lowered = lowered_for(program, (platform_of(placement.devices[0]),), placement, options)
    return compiled_programs.compile_lowered(
        lowered,
        placement,
        compiler_options=dict(options.compiler_options),
        keeps_bytes=options.is_cached,
    )


def lowered_for(
    program: TracedProgram, platforms: tuple[str, ...], placement: Placement, options: JitOptions
) -> program_lowering.Lowered:
    """Returns the lowered module of a program; placements on other devices share it.

    Args:
      program: the program.
      platforms: the platforms on which the module will run.
      placement: the devices, shardings and layouts.
      options: the options of the function.
    """
    key = (
        _LOWERED,
        platforms,
        options.keep_unused,
        options.compile_budget,
        placement.key_of_module(),
    )
    lowered = program.executables.get(key)
    if lowered is None:
        lowered = lowered_module(program, platforms, placement, options)
        if not lowered.is_for_devices:
            program.executables[key] = lowered
    return lowered


def lowered_module(
    program: TracedProgram, platforms: tuple[str, ...], placement: Placement, options: JitOptions
) -> program_lowering.Lowered:
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


# Distinguishes the keys of modules from those of executables.
_LOWERED = "lowered"
