# SPDX-License-Identifier: Apache-2.0
"""Serialization of compiled functions, to be loaded by processes with devices of the same kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_xla.calls import stages
from olympus_xla.calls.serialized import load, serialized_bytes

__all__ = ["deserialize_and_load", "serialize"]


def serialize(compiled: stages.Compiled) -> tuple[bytes, Any, Any]:
    """Serializes a compiled function, for `deserialize_and_load`.

    Args:
      compiled: the function, as ``jit(f).lower(...).compile()`` returns it.

    Returns:
      The bytes, and the structures of arguments and results, which the caller stores.

    Raises:
      ValueError: the function calls Python or takes references, or XLA cannot write it.

    Example:
      >>> import numpy as np
      >>> from olympus import jit, lax
      >>> compiled = jit(lax.sin).lower(np.float32(0)).compile()
      >>> data, in_tree, out_tree = serialize(compiled)
      >>> deserialize_and_load(data, in_tree, out_tree)(np.float32(0))
      Array(0., dtype=float32)
    """
    contents = serialized_bytes(compiled._executable.program, compiled._executable.compiled)
    return contents, compiled.in_tree, compiled.out_tree


def deserialize_and_load(
    serialized: bytes,
    in_tree: Any,
    out_tree: Any,
    backend: Any = None,
    execution_devices: Sequence[Any] | None = None,
) -> stages.Compiled:
    """Loads a compiled function that `serialize` wrote.

    Loading runs code that the bytes contain, so they must come from a trusted source.

    Args:
      serialized: the bytes.
      in_tree: the structure of the arguments.
      out_tree: the structure of the results.
      backend: the platform or the backend to load the function on; by default the default backend.
      execution_devices: the devices to run on, in the order of the devices that the function was
        compiled for; by default the devices with the same ids.

    Returns:
      The compiled function, loaded on the devices.

    Raises:
      ValueError: the bytes are not a compiled function or are damaged, or the function was compiled
        for another number of devices.
    """
    program, inner = load(serialized, out_tree, backend, execution_devices)
    return stages.Compiled.of_executable(program, in_tree, inner)
