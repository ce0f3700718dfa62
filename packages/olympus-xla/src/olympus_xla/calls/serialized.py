# SPDX-License-Identifier: Apache-2.0
"""Compiled functions as bytes, which other processes load on devices of the same kind.

The bytes contain machine code and pickled records, so `load` runs code of the bytes' author. A
digest at the start detects damage before any code runs.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.programs.calls.traced_programs import TracedProgram
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Olympuspr, Var

from .._jaxlib import (
    deserialize_executable,
    is_description,
    register_called_routines,
    serialize_executable,
)
from ..arrays.transfer import put_leaf
from ..compiling.compile_options import compile_options
from ..compiling.lowering.lowered import Lowered
from ..compiling.placement.placements import Placement, platform_of
from ..platforms import backends
from .compiled import Compiled
from .executables import Executable

__all__ = ["load", "serialized_bytes"]

MAGIC = b"\x89OLYMPUS-COMPILED-1\n"
_DIGEST_SIZE = hashlib.sha256().digest_size


def serialized_bytes(program: TracedProgram, inner: Compiled) -> bytes:
    """Returns a compiled function as bytes for `load`.

    Raises:
      ValueError: the function calls Python or takes references, or XLA cannot write it.
    """
    lowered, placement = inner.lowered, inner.placement
    if lowered.host_callbacks or program.kind == "references":
        obstacle = "calls back into Python" if lowered.host_callbacks else "takes references"
        raise ValueError(f"{lowered.name} {obstacle} and cannot be serialized")
    if is_description(placement.devices[0]):
        code = inner.executable.loaded.serialize()
    else:
        code = inner.executable.serialized or serialize_executable(inner.executable.loaded)
    if code is None:
        raise ValueError(
            f"the executable of {lowered.name} has parts that XLA cannot write for this platform"
        )
    info = program.closed.jaxpr.debug_info
    state = {
        "code": code,
        "name": lowered.name,
        "kept": lowered.kept,
        "constants": [_plain(value) for value in inner.constants],
        "in_avals": list(lowered.in_avals),
        "out_avals": list(lowered.out_avals),
        "ordered_effects": lowered.ordered_effects,
        "arg_names": None if info is None else info.arg_names,
        "placement": placement,
        "out_shardings": list(inner.executable.out_shardings),
    }
    file = io.BytesIO()
    _Pickler(file).dump(state)
    contents = file.getvalue()
    return MAGIC + hashlib.sha256(contents).digest() + contents


def load(
    serialized: bytes,
    out_tree: Any,
    backend: Any = None,
    execution_devices: Sequence[Any] | None = None,
) -> tuple[TracedProgram, Compiled]:
    """Loads a compiled function that `serialized_bytes` wrote: its program and its executable.

    Loading runs code that the bytes contain. The program has types and names, but no equations.

    Raises:
      ValueError: the bytes are not a compiled function or are damaged, or the function was compiled
        for another number of devices.
    """
    contents = _opened(bytes(serialized))
    all_devices = list(execution_devices or backends.devices(_platform_of(backend)))
    unpickler = _Unpickler(io.BytesIO(contents), all_devices, execution_devices is not None)
    state = unpickler.load()
    placement: Placement = state["placement"]
    count = len(placement.devices)
    if execution_devices is not None and len(all_devices) != count:
        raise ValueError(
            f"{state['name']} was compiled for {count} devices, and execution_devices has "
            f"{len(all_devices)}"
        )
    options = compile_options([device.id for device in placement.devices], partitions=count)
    register_called_routines(state["code"])
    loaded = deserialize_executable(state["code"], placement.devices, options)
    lowered = _without_module(state, platform_of(placement.devices[0]))
    shardings = [placement.constant_sharding(value) for value in state["constants"]]
    constants = [
        put_leaf(value, sharding)
        for value, sharding in zip(state["constants"], shardings, strict=True)
    ]
    kept = [position for position, keep in enumerate(state["kept"]) if keep]
    executable = Executable(
        loaded,
        in_avals=[
            *(constant.aval for constant in constants),
            *(state["in_avals"][position] for position in kept),
        ],
        in_shardings=[*shardings, *map(placement.operand_sharding, kept)],
        out_avals=state["out_avals"],
        out_shardings=state["out_shardings"],
        committed=placement.committed,
        ordered_effects=state["ordered_effects"],
        calls_python=False,
        keep_alive=[],
        spans_processes=len({device.process_index for device in placement.devices}) > 1,
        serialized=state["code"],
    )
    return _program(state, out_tree), Compiled(lowered, executable, placement, constants)


def _without_module(state: dict[str, Any], platform: str) -> Lowered:
    """Returns the properties of a lowered program, without the program and its module."""
    return Lowered(
        closed=None,
        module=None,
        name=state["name"],
        kept=state["kept"],
        constants=state["constants"],
        cuts=(),
        program=None,
        in_avals=state["in_avals"],
        out_avals=state["out_avals"],
        donated=(False,) * len(state["in_avals"]),
        effects=frozenset(state["ordered_effects"]),
        ordered_effects=state["ordered_effects"],
        host_callbacks=[],
        callback_errors=None,
        keep_alive=[],
        platforms=(platform,),
        needs_refinement=False,
    )


def _opened(sealed: bytes) -> bytes:
    """Returns the contents of bytes that `serialized_bytes` made, after checking the digest.

    Raises:
      ValueError: the bytes are not a compiled function, or they are damaged.
    """
    start = len(MAGIC) + _DIGEST_SIZE
    if not sealed.startswith(MAGIC):
        raise ValueError(
            "deserialize_and_load: these bytes are not a compiled function of this version of "
            f"OLYMPUS. It accepts the bytes that serialize returned; these begin with "
            f"{sealed[:24]!r}."
        )
    contents = sealed[start:]
    if hashlib.sha256(contents).digest() != sealed[len(MAGIC) : start]:
        raise ValueError(
            "deserialize_and_load: the compiled function is damaged or cut off: its digest differs"
        )
    return contents


def _plain(value: Any) -> Any:
    return np.asarray(value)


def _platform_of(backend: Any) -> Any:
    return getattr(backend, "platform", backend)


def _program(state: dict[str, Any], out_tree: Any) -> Any:
    """Returns a program without equations, which supplies the types and names that calls need."""
    names = state["arg_names"]
    info = DebugInfo(state["name"], None, lambda: names, None)
    olympuspr = Olympuspr(
        [],
        [Var(aval) for aval in state["in_avals"]],
        [Var(aval) for aval in state["out_avals"]],
        [],
        debug_info=info,
    )
    return TracedProgram(ClosedOlympuspr(olympuspr, []), out_tree, {"name": state["name"]}, [])


class _Pickler(pickle.Pickler):
    """Pickler that writes devices by their ids."""

    def persistent_id(self, obj: Any) -> Any:
        if hasattr(obj, "device_kind") and hasattr(obj, "process_index"):
            return "device", obj.id
        return None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: Any, devices: Sequence[Any], in_order: bool) -> None:
        super().__init__(file)
        self._devices = devices
        self._in_order = in_order
        self._seen: dict[int, Any] = {}

    def persistent_load(self, pid: Any) -> Any:
        _, number = pid
        if self._in_order:
            # The n-th distinct device id in the bytes stands for the n-th device to run on.
            if number not in self._seen and len(self._seen) < len(self._devices):
                self._seen[number] = self._devices[len(self._seen)]
            found = self._seen.get(number)
        else:
            found = next((device for device in self._devices if device.id == number), None)
        if found is None:
            raise ValueError(
                f"the function was compiled for the device with number {number}, and there are "
                f"{[device.id for device in self._devices]}; pass execution_devices"
            )
        return found
