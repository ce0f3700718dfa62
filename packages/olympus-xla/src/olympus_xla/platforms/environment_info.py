# SPDX-License-Identifier: Apache-2.0
"""Description of the machine and the installation, for bug reports."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys

import numpy as np

from . import backends

__all__ = ["print_environment_info"]


def print_environment_info(return_string: bool = False) -> str | None:
    """Prints versions, devices, the operating system and the settings.

    Args:
      return_string: whether to return the text instead of printing it.

    Returns:
      The text if ``return_string`` is True, else None.

    Example:
      >>> text = print_environment_info(return_string=True)
      >>> [line.partition(":")[0] for line in text.splitlines() if line.startswith("jaxlib")]
      ['jaxlib']
    """
    count, local = backends.device_count(), backends.local_device_count()
    lines = [
        *_library_version(),
        f"jaxlib: {importlib.metadata.version('jaxlib')}",
        f"numpy:  {np.__version__}",
        f"python: {' '.join(sys.version.splitlines())}",
        f"device info: {backends.devices()[0].device_kind}-{count}, {local} local devices",
        f"process_count: {backends.process_count()}",
        f"platform: {platform.uname()}",
    ]
    settings = ("OLYMPUS_", "JAX_", "XLA_")
    lines += [f"{name}={value}" for name, value in os.environ.items() if name.startswith(settings)]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None


def _library_version() -> list[str]:
    """Returns a line with the version of the library, under the name that the program imports."""
    for name in ("jax", "olympus"):
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            return [f"{name + ':':<7} {version}"]
    return []
