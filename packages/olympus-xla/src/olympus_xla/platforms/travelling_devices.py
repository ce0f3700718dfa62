# SPDX-License-Identifier: Apache-2.0
"""Pickles of devices. They hold a platform and an id, by which a process finds its own device.

Meshes and shardings, and functions that refer to them, are pickled with their devices.
"""

from __future__ import annotations

import copyreg

from .._jaxlib import Device
from .backends import devices

__all__ = ["device_of_this_process"]


def device_of_this_process(platform: str, number: int) -> Device:
    """Returns the device of the given platform with the id ``number``.

    Raises:
      RuntimeError: this process has no such device.

    Example:
      >>> device_of_this_process("cpu", 0)
      CpuDevice(id=0)
    """
    try:
        found = {device.id: device for device in devices(platform)}
    except RuntimeError as error:
        raise RuntimeError(
            f"the pickle refers to the device {platform}:{number}, and this process has no "
            f"platform {platform}: {error}"
        ) from None
    if number not in found:
        hint = ""
        if platform == "cpu":
            hint = f". Start it with the setting olympus_num_cpu_devices={number + 1} or more"
        raise RuntimeError(
            f"the pickle refers to the device {platform}:{number}, and this process has the "
            f"devices {', '.join(f'{platform}:{known}' for known in sorted(found))}{hint}"
        )
    return found[number]


def _reduced(device: Device) -> tuple:
    return device_of_this_process, (device.platform, device.id)


copyreg.pickle(Device, _reduced)  # type: ignore[arg-type]  # its type says that it takes no class
