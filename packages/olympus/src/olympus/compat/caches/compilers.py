# SPDX-License-Identifier: Apache-2.0
"""Compile options and programs of XLA, under the names of JAX's private module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from olympus_xla.compiling.compile_options import compile_options

__all__ = ["backend_compile_and_load", "get_compile_options"]


def get_compile_options(
    num_replicas: int,
    num_partitions: int,
    device_assignment: Any = None,
    env_options_overrides: Mapping[str, Any] | None = None,
    fdo_profile: bytes | None = None,
    detailed_logging: bool = True,
    backend: Any = None,
) -> Any:
    """Returns XLA's compile options under the present flags.

    Args:
      num_replicas: the number of copies that run on different data.
      num_partitions: the number of devices over which each copy is divided.
      device_assignment: the devices, in an array with a row for each copy.
      env_options_overrides: XLA's options by name.
      fdo_profile: a profile for the compiler.
      detailed_logging: has no effect.
      backend: has no effect.

    Example:
      >>> get_compile_options(num_replicas=1, num_partitions=2).num_partitions
      2
    """
    del detailed_logging, backend
    devices = None if device_assignment is None else np.asarray(device_assignment)
    options = compile_options(
        None if devices is None else [getattr(device, "id", device) for device in devices.ravel()],
        partitions=num_partitions,
        replicas=num_replicas,
        options=dict(env_options_overrides or {}),
    )
    if fdo_profile is not None:
        options.executable_build_options.fdo_profile = fdo_profile
    return options


def backend_compile_and_load(
    backend: Any,
    module: Any,
    executable_devices: Any,
    options: Any,
    host_callbacks: Sequence[Any] = (),
) -> Any:
    """Compiles an MLIR module with the client of a backend, and loads the executable."""
    callbacks = [list(host_callbacks)] if host_callbacks else []
    return backend.compile_and_load(str(module), executable_devices, options, *callbacks)
