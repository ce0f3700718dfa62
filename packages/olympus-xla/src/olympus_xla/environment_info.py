# SPDX-License-Identifier: Apache-2.0
"""What a report of a problem should say of the machine and the installation."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections import Counter

import numpy as np

from . import backends

__all__ = ["print_environment_info"]


def print_environment_info(return_string: bool = False) -> str | None:
    """Prints the versions, devices and the system that a program runs on.

    Args:
      return_string: whether to return the text instead.

    Example:
      >>> text = print_environment_info(return_string=True)
      >>> text.splitlines()[0].partition(":")[0]
      'jaxlib'
    """
    kinds = Counter(device.device_kind for device in backends.devices())
    lines = [
        f"jaxlib: {importlib.metadata.version('jaxlib')}",
        f"numpy:  {np.__version__}",
        f"python: {sys.version}",
        "devices: " + ", ".join(f"{kind} x {count}" for kind, count in kinds.items()),
        f"local devices: {backends.local_device_count()}",
        f"process_count: {backends.process_count()}",
        f"platform: {platform.uname()}",
    ]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None
