# SPDX-License-Identifier: Apache-2.0
"""Compilation of StableHLO modules to loaded executables, by XLA or from the cache on disk."""

from __future__ import annotations

import collections
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_ir.diagnostics import phases
from olympus_ir.loading import deferred
from olympus_ir.settings.config_cache_flags import (
    compilation_cache_dir,
    compilation_cache_include_metadata_in_key,
    enable_compilation_cache,
)

from .._jaxlib import DeviceList, JaxRuntimeError, is_description
from ..platforms.topologies import CompileOnlyExecutable
from .compile_errors import raise_clear_error
from .compile_options import compile_options, use_gpu_caches
from .interruption import interruptibly
from .progress import shown
from .waiting import callbacks_for_waiting

if TYPE_CHECKING:
    from . import compilation_cache
    from .lowering import isolation
    from .lowering.cpu import machine_code
else:
    # Programs that are found on disk need no MLIR.
    isolation = deferred(".lowering.isolation", milliseconds=60.0)
    machine_code = deferred(".lowering.cpu.machine_code", milliseconds=60.0)
    compilation_cache = deferred(".compilation_cache", milliseconds=10.0)

__all__ = ["CacheEntry", "CompiledModule", "CompiledProgram", "compile_module", "compiled_programs"]


class CacheEntry(NamedTuple):
    """Entry of the cache on disk.

    Attributes:
      file: the name of the entry's file.
      options: XLA's serialized compile options, with which the executable is loaded.
    """

    file: str
    options: bytes


class CompiledModule(NamedTuple):
    """Loaded executable of jaxlib.

    Attributes:
      loaded: the executable. It cannot run on compile-only devices.
      serialized: the bytes of an executable that was found on disk, else None. They are kept
        because jaxlib would serialize the executable without its machine code.
      entry: the entry of the cache on disk that holds the executable; None if none does.
      seconds: the time of compiling or loading.
    """

    loaded: Any
    serialized: bytes | None
    entry: CacheEntry | None
    seconds: float


class CompiledProgram(NamedTuple):
    """Record of a program that was compiled or loaded from disk.

    Attributes:
      name: the name of the computation.
      source: the function and its source line, such as ``f at file.py:3``.
      equations: the number of equations of the program.
      seconds: the time of compiling or loading.
      from_disk: whether the executable was found on disk.
    """

    name: str
    source: str
    equations: int
    seconds: float
    from_disk: bool


#: The programs that this process has compiled or loaded most recently, in order.
compiled_programs: collections.deque[CompiledProgram] = collections.deque(maxlen=2_000)


def compile_module(
    module: Any,
    devices: Sequence[Any],
    *,
    name: str = "<unnamed>",
    partitions: int = 1,
    compiler_options: dict[str, Any] | None = None,
    disabled_passes: Sequence[str] = (),
    unrolls_loops: bool = True,
    host_callbacks: Sequence[Callable[..., Any]] = (),
    source: str = "",
    equations: int = 0,
    is_inspected: bool = False,
    caller_waits: bool = False,
) -> CompiledModule:
    """Compiles a StableHLO module for devices and loads the executable.

    Args:
      module: the module, or its bytecode.
      devices: the devices.
      name: the name of the computation for listeners and the log.
      partitions: the number of devices over which the computation is partitioned.
      compiler_options: XLA's options by name.
      disabled_passes: passes of XLA that must not run on the module.
      unrolls_loops: whether the CPU's compiler unrolls loops.
      host_callbacks: the Python functions that the computation calls.
      source: the function from which the computation comes, for reports.
      equations: the number of equations of the program, for reports.
      is_inspected: whether the executable is for inspection. If so, it is loaded from disk only if
        the user has named a directory, or if keys include source lines. Otherwise it may have other
        source lines.
      caller_waits: whether each caller of the executable waits for its results.

    Returns:
      The loaded executable.

    Raises:
      TypeError: a compiler option has a value that XLA does not accept.
      JaxRuntimeError: XLA refuses the module.
    """
    options = compile_options(
        [device.id for device in devices],
        partitions=partitions,
        options=compiler_options,
        disabled_passes=disabled_passes,
    )
    options = machine_code.tuned(options, devices[0].platform, module, unrolls_loops=unrolls_loops)

    compiled = False
    waiting = callbacks_for_waiting(devices) if caller_waits and not host_callbacks else []

    def compile_with(options: Any) -> Any:
        nonlocal compiled
        compiled = True
        # These options are not part of the key on disk, because folders do not change what is
        # compiled.
        use_gpu_caches(options, devices[0].platform)
        try:
            return _compile(module, devices, options, host_callbacks or waiting)
        except JaxRuntimeError as error:
            raise_clear_error(error, devices[0].platform)
            raise

    started = time.monotonic()
    with phases.compiling(name), shown(name, equations):
        cache = None
        if _may_be_on_disk(devices[0], is_inspected):
            cache = compilation_cache.cache_in_use(devices[0].platform)
        if cache is not None and host_callbacks:
            compilation_cache.note_host_callbacks(cache, module)
            cache = None
        if cache is None:
            loaded, serialized, file = compile_with(options), None, None
        else:
            loaded, serialized, file = compilation_cache.load_or_compile(
                cache, module, devices, options, compile_with, waiting
            )
    seconds = time.monotonic() - started
    compiled_programs.append(CompiledProgram(name, source, equations, seconds, not compiled))
    entry = None if file is None else CacheEntry(file, options.SerializeAsString())
    return CompiledModule(loaded, serialized, entry, seconds)


def _may_be_on_disk(device: Any, is_inspected: bool) -> bool:
    """Returns whether the flags allow storing programs for a device on disk."""
    if is_description(device):
        return False
    if compilation_cache_dir.value:
        return True
    if device.platform != "cpu" or not enable_compilation_cache.value:
        return False
    return not is_inspected or compilation_cache_include_metadata_in_key.value


def _compile(
    module: Any, devices: Sequence[Any], options: Any, host_callbacks: Sequence[Callable[..., Any]]
) -> Any:
    client, order = devices[0].client, DeviceList(tuple(devices))
    with isolation.isolated(module) as program:
        if is_description(devices[0]):
            return CompileOnlyExecutable(client.compile(program, order, options))
        callbacks = [list(host_callbacks)] if host_callbacks else []
        return interruptibly(lambda: client.compile_and_load(program, order, options, *callbacks))
