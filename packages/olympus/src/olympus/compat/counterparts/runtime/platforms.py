# SPDX-License-Identifier: Apache-2.0
"""Names of platforms and clients of devices, under the names of JAX's private module."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

from olympus_xla.platforms import backends

__all__ = [
    "cuda_versions",
    "expand_platform_alias",
    "get_device_backend",
    "has_visible_nvidia_gpu",
    "is_known_platform",
    "running_in_cloud_tpu_vm",
]

_ALIASES = {"gpu": ["cuda", "rocm", "oneapi"]}


def expand_platform_alias(platform: str) -> list[str]:
    """Returns the platforms that a name stands for.

    Example:
      >>> expand_platform_alias("gpu")
      ['cuda', 'rocm', 'oneapi']
    """
    return list(_ALIASES.get(platform, [platform]))


def is_known_platform(platform: str) -> bool:
    """Returns whether a platform, or a group such as "gpu", has this name."""
    return platform in _ALIASES or platform in ("cuda", "rocm", *backends.known_platforms())


def get_device_backend(device: Any = None) -> Any:
    """Returns the client of a device; by default, the client of the default backend."""
    return backends.get_backend() if device is None else device.client


def has_visible_nvidia_gpu() -> bool:
    """Returns whether this machine has a device file of NVIDIA's driver."""
    return any(Path("/dev", name).exists() for name in ("nvidia0", "nvidiactl", "dxg"))


#: Whether this machine is a virtual machine with TPUs, as the installed libtpu shows.
running_in_cloud_tpu_vm = importlib.util.find_spec("libtpu") is not None


def _cuda_versions() -> Any:
    """Returns the module with the versions of CUDA's libraries; None without CUDA's plugin."""
    for plugin in ("jax_cuda13_plugin", "jax_cuda12_plugin"):
        if importlib.util.find_spec(plugin) is not None:
            return importlib.import_module(f"{plugin}._versions")
    return None


cuda_versions = _cuda_versions()
