# SPDX-License-Identifier: Apache-2.0
"""The key of an executable on disk.

The key covers everything on which the compiler's output depends:

- the module in binary form, without source positions (unless a flag requests them);
- XLA's compile options, among them the number and order of the devices, and the flags in the
  environment;
- the build of jaxlib, the build of the plugin, if there is one, and the version of this package;
- the platform and the kind of the devices; on CPUs also the model, the features and the count
  of the processors, and the count that this process may use.

Some programs have no key: programs that contain addresses of their process, and programs changed by
a compiler pass written in Python. The cache in the user's cache folder is on by default. For this
cache, a program has a key only if all of its foreign calls are known to contain no addresses.
"""

from __future__ import annotations

import functools
import os
import platform
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_ir.loading import deferred
from olympus_ir.settings import config_cache_flags

from .. import _jaxlib
from ..__about__ import __version__

if TYPE_CHECKING:
    import hashlib

    from .lowering import mlir
else:
    # Only programs that keep executables on disk need hashlib, which loads OpenSSL.
    hashlib = deferred("hashlib", milliseconds=3.0)
    # Programs that the program cache finds on disk need no MLIR.
    mlir = deferred(".lowering.mlir", milliseconds=60.0)

# This number must change if the format or the use of entries changes.
_FORMAT_VERSION = 2

# Calls that embed addresses of this process in a program.
_OF_THIS_PROCESS = (
    b"CustomSPMDPartitioning",
    b"InspectSharding",
    b"xla_ffi_python_",
    b"xla_buffer_python_",
    b"xla_python_",
)

# Calls that are known to contain no addresses: those that XLA replaces, and jaxlib's routines.
_WITHOUT_ADDRESSES = re.compile(
    r"Sharding|SPMDFullToShardShape|SPMDShardToFullShape|xla\.sdy\.\w+|LayoutConstraint"
    r"|annotate_device_placement|MoveToHost|MoveToDevice|ApproxTopK|mhlo\.\w+|stablehlo\.\w+"
    r"|shape_assertion|lapack_[a-z0-9_]+_ffi|tridiagonal_solve_perturbed_ffi"
)

# With these flags, a compilation has effects besides an executable, such as dumps.
_FLAGS_WITH_EFFECTS = ("--xla_dump_to", "--xla_dump_hlo")

# XLA's CPU client reads its number of threads from the last two.
_ENVIRONMENT = ("XLA_FLAGS", "LIBTPU_INIT_ARGS", "TF_XLA_FLAGS", "NPROC", "PJRT_NPROC")


def executable_key(
    module: Any,
    devices: Sequence[Any],
    options: Any,
    *,
    is_asked_for: bool = True,
) -> str | None:
    """Returns the key of the executable of a module; None if it must not be stored.

    Args:
      module: the MLIR module.
      devices: the devices, in the order of the partitions.
      options: XLA's compile options.
      is_asked_for: whether the user has requested the cache. If so, a foreign call prevents a key
        only if it is known to contain addresses of this process.
    """
    host = _host_of(devices)
    if host is None or _has_effects() or _jaxlib.compiler_passes:
        return None
    if config_cache_flags.compilation_cache_include_metadata_in_key.value:
        program = mlir.bytecode(module)
    else:
        program = mlir.bytecode_without_locations(module)
    if any(name in program for name in _OF_THIS_PROCESS):
        return None
    if not is_asked_for and not _calls_only_known(module, program):
        return None
    return digest_of(program, options.SerializeAsString(), *_versions(host))


def circumstances(devices: Sequence[Any]) -> list[bytes] | None:
    """Returns everything on which executables depend besides the program and the options.

    Returns:
      The versions, the environment and the machine; None if executables must not be stored.
    """
    host = _host_of(devices)
    if host is None or _has_effects() or _jaxlib.compiler_passes:
        return None
    return _versions(host)


def _versions(host: tuple[str, ...]) -> list[bytes]:
    versions = f"{_FORMAT_VERSION} {__version__} {_jaxlib.build_identity()}"
    return [versions.encode(), *_environment(), *(part.encode() for part in host)]


def digest_of(*parts: bytes) -> str:
    """Returns a hexadecimal digest of a sequence of bytes objects."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def _calls_only_known(module: Any, program: bytes) -> bool:
    """Returns whether all foreign calls of a module are known to contain no addresses.

    Args:
      module: the MLIR module.
      program: the module's bytecode, which contains the names of its operations.
    """
    if b"custom_call" not in program:
        return True
    targets = mlir.custom_call_targets(module)
    return all(_WITHOUT_ADDRESSES.fullmatch(target) for target in targets)


def _environment() -> list[bytes]:
    """Returns the compiler's flags in the environment, in a canonical order."""
    return [" ".join(sorted(os.environ.get(name, "").split())).encode() for name in _ENVIRONMENT]


def _has_effects() -> bool:
    flags = os.environ.get("XLA_FLAGS", "")
    return any(flag in flags for flag in _FLAGS_WITH_EFFECTS)


def _host_of(devices: Sequence[Any]) -> tuple[str, ...] | None:
    """Returns a description of the devices; None if it is incomplete.

    The result is also None for devices of several processes. Their executables are not stored,
    because a program must be compiled by all processes or by none.
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
    """Returns the model, the features and the count of the processors; None if unknown."""
    system = (platform.system(), platform.machine(), str(os.cpu_count()), usable_processors())
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            features = _features(file.read())
    except OSError:
        features = ""
    if not features:
        # On macOS, the processor's name identifies its features.
        features = platform.processor() if platform.system() == "Darwin" else ""
    return "\n".join((*system, features)) if features else None


def usable_processors() -> str:
    """Returns the number of processors that the process may use, if the system reports it."""
    return str(len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ""


def _features(cpuinfo: str) -> str:
    """Returns the lines of /proc/cpuinfo that describe the processors' instruction sets."""
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
