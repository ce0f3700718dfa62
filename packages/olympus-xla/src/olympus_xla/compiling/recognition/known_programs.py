# SPDX-License-Identifier: Apache-2.0
"""Index of the cache on disk by digests of programs, which spares a process their lowering.

An entry of the index names the file of an executable, and stores the other data that a call needs.
Entries are in a folder next to the user's cache of executables. A cache in a directory that the
user has chosen has no index, because listeners expect the events of that cache.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from olympus_ir.diagnostics import phases
from olympus_ir.programs.calls.traced_programs import TracedProgram
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.types.effects import no_effects

from ... import _jaxlib
from .. import cache_usage, compilation_cache
from ..cache_store import ProgramCache, UserCache
from ..compiler import CacheEntry, CompiledProgram, compiled_programs
from ..lowering.lowered import Lowered
from ..placement.placements import Placement
from ..waiting import callbacks_for_waiting

__all__ = ["FOLDER", "KnownProgram", "find", "keep"]

#: The name of the index's folder.
FOLDER = "known"


class KnownProgram(NamedTuple):
    """A program whose executable was found on disk.

    Attributes:
      lowered: the program, without a module.
      loaded: jaxlib's executable.
      entry: the name of the file that contains the executable, and XLA's compile options.
    """

    lowered: Lowered
    loaded: Any
    entry: CacheEntry


def find(
    digest: str, program: TracedProgram, placement: Placement, caller_waits: bool = False
) -> KnownProgram | None:
    """Returns the executable of a program from disk; None if it is not there.

    Args:
      digest: the program's digest; see `program_digest.program_digest`.
      program: the program.
      placement: the placement of the program on one CPU.
      caller_waits: whether each caller waits for the results.
    """
    executables = _user_cache()
    if executables is None:
        return None
    name = f"jit_{program.params['name']}"
    started = time.monotonic()
    try:
        index = UserCache(FOLDER)
        noted = index.get(index.path_of(name, digest))
        if noted is None:
            return None
        entry, kept, constants = _parsed(noted[0].decode())
        found = executables.get(executables.directory / entry.file)
        if found is None:  # the executable was removed to make room
            return None
        with phases.compiling(f"jit({program.params['name']})"):
            loaded = _load(found[0], placement, entry, caller_waits)
    except Exception as error:
        compilation_cache.report_failure(executables, "reading", name, error)
        return None
    lowered = _lowered(program, kept, constants)
    cache_usage.hits += 1
    info, count = program.closed.jaxpr.debug_info, len(program.closed.jaxpr.eqns)
    seconds = time.monotonic() - started
    compiled_programs.append(
        CompiledProgram(lowered.name, info.func_src_info, count, seconds, from_disk=True)
    )
    return KnownProgram(lowered, loaded, entry)


def keep(digest: str, lowered: Lowered, entry: CacheEntry) -> None:
    """Records which file contains the executable of a program.

    Args:
      digest: the program's digest.
      lowered: the lowered program.
      entry: the name of the file that contains the executable, and XLA's compile options.
    """
    executables = _user_cache()
    if executables is None or not _is_complete(lowered):
        return
    name = f"jit_{lowered.name}"
    positions = {id(value): position for position, value in enumerate(lowered.closed.consts)}
    # Lines of text, because a training step does not load `json` otherwise.
    fields = (
        entry.file,
        entry.options.hex(),
        " ".join(str(int(is_kept)) for is_kept in lowered.kept),
        " ".join(str(positions[id(value)]) for value in lowered.constants),
    )
    try:
        index = UserCache(FOLDER)
        index.put(index.path_of(name, digest), "\n".join(fields).encode())
    except Exception as error:
        compilation_cache.report_failure(executables, "writing", name, error)


def _parsed(text: str) -> tuple[CacheEntry, tuple[bool, ...], list[int]]:
    """Parses an entry of the index.

    Returns:
      The cache entry of the executable; for each operand of the program, whether the executable
      takes it; and the positions of the executable's constants among the program's constants.
    """
    file, options, kept, constants = text.split("\n")
    entry = CacheEntry(file, bytes.fromhex(options))
    return entry, tuple(flag == "1" for flag in kept.split()), list(map(int, constants.split()))


def _user_cache() -> ProgramCache | None:
    """Returns the cache in the user's folder; None if it is not in use."""
    cache = compilation_cache.cache_in_use("cpu")
    return None if cache is None or cache.is_asked_for else cache


def _load(code: bytes, placement: Placement, entry: CacheEntry, caller_waits: bool) -> Any:
    _jaxlib.register_called_routines(code)
    options = _jaxlib.CompileOptions.ParseFromString(entry.options)
    waiting = callbacks_for_waiting(placement.devices) if caller_waits else []
    return _jaxlib.deserialize_executable(code, placement.devices, options, waiting)


def _is_complete(lowered: Lowered) -> bool:
    """Returns whether an executable and its types are all that calls of a program need."""
    return not (
        lowered.effects
        or lowered.host_callbacks
        # Calls of the executable do not need the programs that lowering keeps alive.
        or any(not isinstance(kept, ClosedOlympuspr) for kept in lowered.keep_alive)
        or lowered.is_for_devices
        or lowered.needs_refinement
    )


def _lowered(program: TracedProgram, kept: tuple[bool, ...], constants: list[int]) -> Lowered:
    closed = program.closed
    return Lowered(
        closed=closed,
        module=None,
        name=program.params["name"],
        kept=kept,
        constants=[closed.consts[position] for position in constants],
        cuts=(),
        in_avals=closed.in_avals,
        out_avals=closed.out_avals,
        donated=tuple(program.params["donated_invars"]),
        effects=no_effects,
        ordered_effects=(),
        host_callbacks=[],
        callback_errors=None,
        is_for_devices=False,
        keep_alive=[],
        platforms=("cpu",),
        program=None,
        needs_refinement=False,
    )
