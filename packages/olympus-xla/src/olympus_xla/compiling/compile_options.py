# SPDX-License-Identifier: Apache-2.0
"""XLA's compile options, for those who compile modules themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..calls.dispatch import compile_options

__all__ = ["create_compile_options", "get_compile_options"]


def get_compile_options(
    num_replicas: int,
    num_partitions: int,
    device_assignment: Any = None,
    env_options_overrides: dict[str, str] | None = None,
    fdo_profile: bytes | None = None,
    detailed_logging: bool = True,
    backend: Any = None,
) -> Any:
    """Returns the compile options of a program.

    Args:
      num_replicas: how many times the program runs on different data.
      num_partitions: over how many devices each of these is divided.
      device_assignment: the numbers of the devices, one row a replica, or one number each where
        there is one partition; None leaves them to the client.
      env_options_overrides: XLA's options by name.
      fdo_profile: a profile of earlier runs, by which the compiler optimises.
      detailed_logging: whether the compiler logs in detail.
      backend: the client that will compile; the options are the same for all.

    Returns:
      jaxlib's ``CompileOptions``.

    Raises:
      ValueError: where the devices are not as many as replicas and partitions want.

    Example:
      >>> get_compile_options(1, 1, device_assignment=[0]).num_partitions
      1
    """
    ids = None if device_assignment is None else np.asarray(device_assignment)
    wanted = (num_replicas, num_partitions)
    if ids is not None:
        ids = ids[:, np.newaxis] if ids.ndim == 1 and num_partitions == 1 else ids
        if ids.shape != wanted:
            raise ValueError(
                f"device_assignment has the shape {ids.shape}, and {num_replicas} replicas of "
                f"{num_partitions} partitions want {wanted}"
            )
    options = compile_options(
        None if ids is None else ids.ravel().tolist(),
        partitions=num_partitions,
        replicas=num_replicas,
        options=env_options_overrides,
    )
    build = options.executable_build_options
    if fdo_profile is not None:
        build.fdo_profile = fdo_profile
    build.debug_options.xla_detailed_logging = detailed_logging
    return options


def create_compile_options(
    computation: Any,
    tuple_args: bool,
    allow_prop_to_inputs: Sequence[bool],
    allow_prop_to_outputs: Sequence[bool],
    backend: Any,
    np_dev: np.ndarray,
    compiler_options: dict[str, Any] | None,
) -> Any:
    """Returns the compile options of a program that is partitioned over devices.

    Args:
      computation: the module; the options do not depend on it.
      tuple_args: whether the program takes one tuple in the place of its operands.
      allow_prop_to_inputs: for each operand, whether the compiler may choose its sharding.
      allow_prop_to_outputs: likewise for each result.
      backend: the client that will compile.
      np_dev: the devices, an array.
      compiler_options: XLA's options by name.
    """
    ids = np.array([[device.id for device in np.asarray(np_dev).flat]], np.int32)
    overrides = dict(compiler_options or {})
    options = get_compile_options(
        1,
        ids.size,
        device_assignment=ids,
        fdo_profile=overrides.pop("fdo_profile", None),
        env_options_overrides=overrides,
        backend=backend,
    )
    options.parameter_is_tupled_arguments = tuple_args
    build = options.executable_build_options
    build.allow_spmd_sharding_propagation_to_parameters = list(allow_prop_to_inputs)
    build.allow_spmd_sharding_propagation_to_output = list(allow_prop_to_outputs)
    return options
