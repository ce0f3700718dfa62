# SPDX-License-Identifier: Apache-2.0
"""XLA's compiler: from a StableHLO module to a loaded executable, or one of the cache on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from olympus_ir.diagnostics import phases
from olympus_ir.loading import deferred
from olympus_ir.settings.config_cache_flags import compilation_cache_dir

from .._jaxlib import DeviceList, JaxRuntimeError, is_description
from ..platforms.topologies import CompileOnlyExecutable
from .compile_errors import raise_clear_error
from .compile_options import compile_options
from .lowering import isolation

if TYPE_CHECKING:
    from . import compilation_cache
else:
    compilation_cache = deferred(".compilation_cache", milliseconds=10.0)

__all__ = ["compile_module"]


def compile_module(
    module: Any,
    devices: Sequence[Any],
    *,
    name: str = "<unnamed>",
    partitions: int = 1,
    compiler_options: dict[str, Any] | None = None,
    host_callbacks: Sequence[Callable[..., Any]] = (),
) -> Any:
    """Compiles a StableHLO module for devices and loads the executable.

    Args:
      module: the module, or its bytecode.
      devices: the devices.
      name: the name of the computation for listeners and the log.
      partitions: the number of devices over which the computation is partitioned.
      compiler_options: XLA's options by name.
      host_callbacks: the Python functions that the computation calls.

    Returns:
      jaxlib's loaded executable, or one that cannot run where the devices are only described.

    Raises:
      TypeError: a compiler option has a value that XLA does not take.
      JaxRuntimeError: XLA refuses the module.
    """
    options = compile_options(
        [device.id for device in devices], partitions=partitions, options=compiler_options
    )

    def compile_with(options: Any) -> Any:
        try:
            return _compile(module, devices, options, host_callbacks)
        except JaxRuntimeError as error:
            raise_clear_error(error, devices[0].platform)
            raise

    cache = None
    if compilation_cache_dir.value and not host_callbacks and not is_description(devices[0]):
        cache = compilation_cache.cache_in_use()
    with phases.compiling(name):
        if cache is None:
            return compile_with(options)
        return compilation_cache.load_or_compile(cache, module, devices, options, compile_with)


def _compile(
    module: Any, devices: Sequence[Any], options: Any, host_callbacks: Sequence[Callable[..., Any]]
) -> Any:
    client, order = devices[0].client, DeviceList(tuple(devices))
    with isolation.isolated(module) as program:
        if is_description(devices[0]):
            return CompileOnlyExecutable(client.compile(program, order, options))
        callbacks = [list(host_callbacks)] if host_callbacks else []
        return client.compile_and_load(program, order, options, *callbacks)
