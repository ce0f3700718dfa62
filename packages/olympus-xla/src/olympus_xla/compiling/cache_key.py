# SPDX-License-Identifier: Apache-2.0
"""The key of an executable on disk.

It covers everything on which the compiler's output depends:

- the module in binary form, without source positions (unless a flag asks for them);
- XLA's compile options, among them the number and order of the devices, and the flags in the
  environment;
- the build of jaxlib, and of the plugin where there is one;
- the platform and the kind of the devices; on CPUs the processors' model, features and number.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from collections.abc import Sequence
from typing import Any

from olympus_ir.settings import config_cache_flags

from .. import _jaxlib
from .lowering import mlir

# Must change when the format or the use of entries changes.
_FORMAT_VERSION = 1

# Calls whose programs hold addresses of this process.
_OF_THIS_PROCESS = (
    b"CustomSPMDPartitioning",
    b"InspectSharding",
    b"xla_ffi_python_",
    b"xla_buffer_python_",
    b"xla_python_",
)

# With these flags a compilation has effects besides an executable, such as dumps.
_FLAGS_WITH_EFFECTS = ("--xla_dump_to", "--xla_dump_hlo")

_ENVIRONMENT = ("XLA_FLAGS", "LIBTPU_INIT_ARGS", "TF_XLA_FLAGS")


def executable_key(module: Any, devices: Sequence[Any], options: Any) -> str | None:
    """Returns the key of the executable of a module; None if it must not be stored.

    Args:
      module: the MLIR module.
      devices: the devices, in the order of the partitions.
      options: XLA's compile options.
    """
    host = _host_of(devices)
    if host is None or _has_effects():
        return None
    if config_cache_flags.compilation_cache_include_metadata_in_key.value:
        program = mlir.bytecode(module)
    else:
        program = mlir.bytecode_without_locations(module)
    if any(name in program for name in _OF_THIS_PROCESS):
        return None
    parts = (
        str(_FORMAT_VERSION).encode(),
        program,
        options.SerializeAsString(),
        *_environment(),
        _jaxlib.build_identity().encode(),
        *(part.encode() for part in host),
    )
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def _environment() -> list[bytes]:
    """Returns the compiler's flags in the environment, in a canonical order."""
    return [" ".join(sorted(os.environ.get(name, "").split())).encode() for name in _ENVIRONMENT]


def _has_effects() -> bool:
    flags = os.environ.get("XLA_FLAGS", "")
    return any(flag in flags for flag in _FLAGS_WITH_EFFECTS)


def _host_of(devices: Sequence[Any]) -> tuple[str, ...] | None:
    """Returns a description of the devices; None if it is incomplete.

    It is None for devices of several processes. Their executables are not stored, because either
    all processes must compile a program or none.
    """
    first = devices[0]
    if any(device.process_index != first.process_index for device in devices):
        return None
    kinds = ",".join(device.device_kind for device in devices)
    described = (first.platform, first.client.platform_version, kinds)
    if first.platform != "cpu":
        return described
    processor = processor_identity()
    return None if processor is None else (*described, processor)


@functools.cache
def processor_identity() -> str | None:
    """Returns the processor's model, features and number; None if they are unknown."""
    count = str(os.cpu_count())
    system = (platform.system(), platform.machine(), count)
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            features = _features(file.read())
    except OSError:
        features = ""
    if not features:
        # On macOS the name of the processor identifies it.
        features = platform.processor() if platform.system() == "Darwin" else ""
    return "\n".join((*system, features)) if features else None


def _features(cpuinfo: str) -> str:
    """Returns the lines of /proc/cpuinfo that tell which code the processors can run."""
    telling = (
        "vendor_id",
        "cpu family",
        "model",
        "model name",
        "stepping",
        "flags",
        "Features",
        "CPU implementer",
        "CPU architecture",
        "CPU variant",
        "CPU part",
        "isa",
    )
    lines = {line.strip() for line in cpuinfo.splitlines() if line.split(":")[0].strip() in telling}
    has_features = any(line.split(":")[0].strip() in ("flags", "Features", "isa") for line in lines)
    return "\n".join(sorted(lines)) if has_features else ""
