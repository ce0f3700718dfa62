# SPDX-License-Identifier: Apache-2.0
"""Compilation of lowered programs to executables that can be called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_ir.loading import deferred
from olympus_ir.settings.config_flags import dump_ir_to
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_ir.types.extended_arrays import physical_sharding
from olympus_ir.types.layouts import placed
from olympus_ir.types.memory_spaces import MEMORY_KINDS, MemorySpace, on_host

from .._jaxlib import ArrayImpl, GSPMDSharding, JaxRuntimeError, NamedSharding, is_description
from ..arrays.donations import note_donations
from ..arrays.layouts import layouts_in_use
from ..arrays.spec_search import hlo_from_proto, spec_of_hlo
from ..arrays.transfer import put_leaf
from ..compiling.compiler import CacheEntry, compile_module
from ..compiling.lowering.lowered import Lowered
from ..compiling.placement.placements import Placement
from ..foreign.callback_errors import find_cause
from ..platforms import backends
from .executables import Executable
from .operand_layouts import operands_lie_as_expected

if TYPE_CHECKING:
    from ..compiling import dumps, symbolic_shapes
    from ..compiling.lowering import mlir
    from ..compiling.lowering.cuts import fusions
    from ..compiling.lowering.loops import rolled_loops, whole_loops
else:
    # Programs that are found on disk need no MLIR.
    fusions = deferred("..compiling.lowering.cuts.fusions", milliseconds=0.6)
    mlir = deferred("..compiling.lowering.mlir", milliseconds=60.0)
    rolled_loops = deferred("..compiling.lowering.loops.rolled_loops", milliseconds=60.0)
    whole_loops = deferred("..compiling.lowering.loops.whole_loops", milliseconds=60.0)
    dumps = deferred("..compiling.dumps", milliseconds=0.6)
    symbolic_shapes = deferred("..compiling.symbolic_shapes", milliseconds=45.0)

__all__ = ["Compiled", "assembled", "compile_lowered"]


class Compiled:
    """An executable with its module, its placement and the constants that are passed to it.

    Attributes:
      lowered: the program.
      executable: the executable.
      placement: the devices, and the shardings of operands and results.
      constants: the arrays that are passed before the operands.
      entry: the entry of the cache on disk that holds the executable; None if none does.
      seconds: the time of the compilation; None if the executable is from disk. An executable from
        disk may have the source lines of an equal program.
    """

    __slots__ = ("_noted", "constants", "entry", "executable", "lowered", "placement", "seconds")

    def __init__(
        self,
        lowered: Lowered,
        executable: Executable,
        placement: Placement,
        constants: list[Any],
        entry: CacheEntry | None = None,
    ) -> None:
        self.lowered = lowered
        self.executable = executable
        self.placement = placement
        self.constants = constants
        self.entry = entry
        self.seconds: float | None = None
        self._noted = False  # whether the first call with donated operands is recorded

    def fastpath(self, out_tree: Any, leaves: Sequence[Any]) -> Any:
        """Returns the `Fastpath` for later calls by C++; None if calls must enter Python."""
        if self._donates_among_several_cpus():
            return None
        if layouts_in_use.in_use:
            # C++ does not check the layouts of operands.
            kept = zip(leaves, self.lowered.kept, strict=True)
            if not operands_lie_as_expected(self, [leaf for leaf, keep in kept if keep]):
                return None
        return self.executable.fastpath(out_tree, self.lowered.kept, self.constants)

    def call(self, leaves: Sequence[Any]) -> list[Any]:
        """Runs the executable on all flat operands. Unused operands are dropped."""
        kept = self.lowered.kept
        operands = [leaf for leaf, keep in zip(leaves, kept, strict=True) if keep]
        donates = any(self.lowered.donated)
        if donates and self.executable.several_devices:
            self._check_donated_once(leaves)
        results = self.executable.call([*self.constants, *operands])
        if donates:
            self._delete_donated(leaves)
        return results

    def _donates_among_several_cpus(self) -> bool:
        """Returns whether a call may take memory from arrays in a way that C++ does not check.

        A donated operand of several emulated devices would end the process in the next call, and so
        would an array over several devices that has a donated operand as a part.
        """
        first = self.placement.devices[0]
        return (
            any(self.lowered.donated)
            and first.platform == "cpu"
            and (self.executable.several_devices or len(first.client.local_devices()) > 1)
        )

    def _check_donated_once(self, leaves: Sequence[Any]) -> None:
        """Raises ValueError if a donated array is an operand twice, because XLA would crash."""
        positions: dict[int, int] = {}
        for position, leaf in enumerate(leaves):
            first = positions.setdefault(id(leaf), position)
            if first != position and (
                self.lowered.donated[first] or self.lowered.donated[position]
            ):
                raise ValueError(
                    f"Attempt to donate the same buffer twice: operands {first} and {position} of "
                    f"{self.lowered.name} are one array. Pass a copy, or do not donate it."
                )

    def _delete_donated(self, leaves: Sequence[Any]) -> None:
        """Deletes donated operands, and records the first call that took some.

        From an operand on other devices the call has taken the memory of a copy, so the operand
        still holds its own. An operand whose memory it has taken is deleted as an object, too: C++
        checks nothing else, and other arrays may have the same memory.
        """
        devices = set(self.placement.devices)
        for leaf, is_donated in zip(leaves, self.lowered.donated, strict=True):
            if is_donated and type(leaf) is ArrayImpl:
                is_moved = leaf._committed and leaf._sharding.device_set != devices
                if is_moved != leaf.is_deleted():
                    leaf.delete()
        if not self._noted:
            self._noted = True
            pairs = zip(self.lowered.in_avals, self.lowered.donated, strict=True)
            note_donations(self.lowered.name, [aval for aval, is_donated in pairs if is_donated])


def compile_lowered(
    lowered: Lowered,
    placement: Placement,
    *,
    compiler_options: dict[str, Any] | None = None,
    is_inspected: bool = False,
    keeps_bytes: bool = False,
    caller_waits: bool = False,
) -> Compiled:
    """Compiles a module for the devices of a placement.

    Args:
      lowered: the module.
      placement: the devices, and the shardings of operands and results.
      compiler_options: XLA's options by name.
      is_inspected: whether the executable is for inspection; see `compile_module`.
      keeps_bytes: whether to keep the bytes of an executable that was found on disk, so that it can
        be written again. Executables for inspection always keep them.
      caller_waits: whether each caller waits for the results.
    """
    if dump_ir_to.value:
        dumps.dump_program(lowered)
    if _spans_processes(placement.devices) and backends.distributed_runtime is not None:
        backends.distributed_runtime.check_same_program(lowered.name, str(lowered.module))
    module = lowered.module
    if lowered.needs_refinement:
        module = symbolic_shapes.refined(lowered)
    try:
        compiled = compile_module(
            module,
            placement.devices,
            name=f"jit({lowered.name})",
            partitions=len(placement.devices),
            compiler_options=compiler_options,
            disabled_passes=_disabled_passes(lowered, placement),
            unrolls_loops=_unrolls_loops(lowered, placement),
            host_callbacks=lowered.host_callbacks,
            source=lowered.closed.jaxpr.debug_info.func_src_info,
            equations=len(lowered.closed.jaxpr.eqns),
            is_inspected=is_inspected,
            caller_waits=caller_waits,
        )
    except JaxRuntimeError as error:
        # The cause may be an exception of a function that inspects shardings.
        cause = find_cause(error)
        if cause is not None:
            raise cause from error
        raise
    # Executables for inspection, and those that are written again, keep the bytes of their file.
    serialized = compiled.serialized if is_inspected or keeps_bytes else None
    result = assembled(
        lowered, compiled.loaded, placement, serialized=serialized, entry=compiled.entry
    )
    result.seconds = compiled.seconds if compiled.serialized is None else None
    return result


def _disabled_passes(lowered: Lowered, placement: Placement) -> list[str]:
    """Returns the passes of XLA that must not run on a program."""
    passes: list[str] = [*fusions.DISABLED_PASSES] if lowered.cuts else []
    if _is_for_one_cpu(placement) and whole_loops.prefers_whole_loops(lowered.program.jaxpr):
        passes.append(whole_loops.DIVIDING_PASS)
    return passes


def _unrolls_loops(lowered: Lowered, placement: Placement) -> bool:
    """Returns whether the compiler unrolls a program's loops."""
    if not _is_for_one_cpu(placement):
        return True
    return not rolled_loops.prefers_rolled_loops(lowered.program.jaxpr)


def _is_for_one_cpu(placement: Placement) -> bool:
    return len(placement.devices) == 1 and placement.devices[0].platform == "cpu"


def assembled(
    lowered: Lowered,
    loaded: Any,
    placement: Placement,
    *,
    serialized: bytes | None = None,
    entry: CacheEntry | None = None,
) -> Compiled:
    """Returns a loaded executable as a program that can be called.

    Args:
      lowered: the program.
      loaded: jaxlib's executable.
      placement: the devices, and the shardings of operands and results.
      serialized: the bytes of an executable that was found on disk, if it may be written again.
      entry: the entry of the cache on disk that holds the executable.
    """
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
        callback_errors=lowered.callback_errors,
        keep_alive=lowered.keep_alive,
        spans_processes=_spans_processes(placement.devices),
        serialized=serialized,
    )
    return Compiled(lowered, wrapped, placement, constants, entry)


def _placed_aval(aval: Any, sharding: Any) -> Any:
    return placed(aval, sharding) if isinstance(aval, ShapedArray) else aval


def _in_memory_of(aval: Any, sharding: Any) -> Any:
    """Returns a sharding in the memory space of a type."""
    if getattr(aval, "memory_space", None) is not MemorySpace.Host:
        return sharding
    return sharding.with_memory_kind(MEMORY_KINDS[MemorySpace.Host])


def _spans_processes(devices: Sequence[Any]) -> bool:
    first = devices[0].process_index
    return any(device.process_index != first for device in devices)


def _result_shardings(loaded: Any, lowered: Lowered, placement: Placement) -> list[Any]:
    """Returns the shardings of results: as requested, or else as reported by the compiler."""
    if placement.mesh is None:
        replicated = placement.replicated
        if not on_host(lowered.out_avals):
            return [replicated] * len(lowered.out_avals)
        return [_in_memory_of(aval, replicated) for aval in lowered.out_avals]
    # XLA reports no shardings for a single device.
    reported = loaded.get_output_shardings() if len(placement.devices) > 1 else None
    if reported is not None:
        reported = reported[len(lowered.ordered_effects) :]
    shardings = []
    for position, aval in enumerate(lowered.out_avals):
        requested = placement.out_shardings[position] if placement.out_shardings else None
        if requested is not None:
            shardings.append(physical_sharding(requested, aval))
        elif reported is None:
            sharding = _as_given_for_operand(placement.replicated, lowered, placement, aval)
            shardings.append(_in_memory_of(aval, sharding))
        else:
            hlo = hlo_from_proto(reported[position])
            sharding = _result_sharding(hlo, placement, mlir.physical_aval(aval))
            typed = _as_typed(sharding, placement, aval)
            sharding = typed or _as_given_for_operand(sharding, lowered, placement, aval)
            shardings.append(_in_memory_of(aval, sharding))
    return shardings


def _result_sharding(hlo: Any, placement: Placement, aval: Any) -> Any:
    """Converts a result's reported sharding, if possible to a sharding over the mesh."""
    spec = spec_of_hlo(hlo, placement.mesh, aval.ndim)
    if spec is not None:
        return NamedSharding(placement.mesh, spec)
    return GSPMDSharding(placement.replicated._internal_device_list, hlo)


def _as_typed(sharding: Any, placement: Placement, aval: Any) -> Any:
    """Returns the sharding in a result's type if it is equivalent to ``sharding``, else None."""
    layout = getattr(aval, "layout", None)
    if layout is None or layout.mesh.axis_names != placement.mesh.axis_names:
        return None
    typed = NamedSharding(placement.mesh, layout.spec)
    return typed if typed.is_equivalent_to(sharding, aval.ndim) else None


def _as_given_for_operand(sharding: Any, lowered: Lowered, placement: Placement, aval: Any) -> Any:
    """Replaces a result's sharding by an equivalent sharding of an operand, if there is one.

    The result thus keeps the form in which the user wrote a spec, such as ``P('x', None)``.
    """
    for operand_sharding, operand in zip(placement.in_shardings, lowered.in_avals, strict=True):
        if (
            type(operand_sharding) is NamedSharding
            and operand.ndim == aval.ndim
            # The spec of key arrays has an entry for the words of keys, too.
            and len(operand_sharding.spec) <= aval.ndim
            and operand_sharding.is_equivalent_to(sharding, aval.ndim)
        ):
            return operand_sharding
    return sharding
