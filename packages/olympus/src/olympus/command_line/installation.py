# SPDX-License-Identifier: Apache-2.0
"""Facts about the installation, the machine and the settings, and their problems."""

from __future__ import annotations

import difflib
import functools
import importlib.metadata
import importlib.util
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from olympus_ir.settings import config_cache_flags
from olympus_ir.settings.config import config
from olympus_ir.settings.configuration import Flag
from olympus_xla.compiling import cache_folder, cache_store, cache_usage
from olympus_xla.compiling.recognition import known_programs
from olympus_xla.platforms import backends
from olympus_xla.platforms.plugins import cuda, tpu

__all__ = [
    "Cache",
    "Problem",
    "cache_in_force",
    "devices",
    "extras",
    "flags_set",
    "machine",
    "plugins",
    "problems",
    "versions",
]

_LIBRARIES = ("jaxlib", "numpy", "ml-dtypes", "opt-einsum", "scipy")
# Environment variables of multi-process programs, which set no flag.
_OTHER_VARIABLES = {
    "OLYMPUS_COORDINATOR_ADDRESS",
    "OLYMPUS_COORDINATOR_SECRET",
    "OLYMPUS_NUM_PROCESSES",
    "OLYMPUS_PROCESS_ID",
}
_PLUGINS = re.compile(r"jax-(cuda|rocm)\d+-(plugin|pjrt)|libtpu|jax-metal")


class Problem(NamedTuple):
    """Defect of an installation.

    Attributes:
      text: the defect.
      remedy: advice for fixing the defect.
    """

    text: str
    remedy: str


class Cache(NamedTuple):
    """Cache of compiled programs on disk.

    Attributes:
      directory: the directory.
      entries: the number of executables.
      size: the number of bytes of executables and programs.
      hits: the number of programs that processes have found there; None if not counted.
      misses: the number of programs that processes have not found there; None if not counted.
      programs: the number of programs that can be found without tracing.
    """

    directory: Path
    entries: int
    size: int
    hits: int | None
    misses: int | None
    programs: int = 0


# ---- packages ----


def _installed() -> dict[str, importlib.metadata.Distribution]:
    """Returns the installed distributions by their names in lower case."""
    found = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            found.setdefault(name.lower().replace("_", "-"), distribution)
    return found


def versions() -> dict[str, str]:
    """Returns the versions of OLYMPUS's packages and of the libraries that they use, by name."""
    installed = _installed()
    names = sorted(name for name in installed if name.split("-")[0] == "olympus")
    return {name: installed[name].version for name in (*names, *_LIBRARIES) if name in installed}


def plugins() -> dict[str, str]:
    """Returns the versions of the installed plugins for accelerators, by name."""
    installed = _installed()
    return {name: installed[name].version for name in sorted(installed) if _PLUGINS.match(name)}


def extras() -> dict[str, list[str]]:
    """Returns, for each extra of `olympus`, the requirements that are not installed."""
    missing: dict[str, list[str]] = {}
    installed = _installed()
    if "olympus" not in installed:
        return missing
    for text in installed["olympus"].requires or []:
        requirement, _, marker = text.partition(";")
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", marker)
        if extra:
            absent = missing.setdefault(extra.group(1), [])
            if _name_of(requirement) not in installed:
                absent.append(requirement.strip())
    return missing


def _name_of(requirement: str) -> str:
    name = re.match(r"[\w.-]+", requirement.strip())
    return "" if name is None else name.group().lower().replace("_", "-")


def _package_problems() -> Iterator[Problem]:
    installed = _installed()
    requirements = _requirement_type()
    for name, distribution in sorted(installed.items()):
        if name.split("-")[0] != "olympus":
            continue
        for text in distribution.requires or []:
            if ";" in text:
                continue
            required = _name_of(text)
            if required not in installed:
                yield Problem(
                    f"{name} needs {required}, which is not installed",
                    f'python -m pip install "{text}"',
                )
            elif requirements is not None:
                version = installed[required].version
                if not requirements(text).specifier.contains(version, prereleases=True):
                    yield Problem(
                        f"{name} {distribution.version} needs {text}, and {version} is installed",
                        f'python -m pip install "{text}"',
                    )


def _requirement_type() -> Any:
    """Returns the class that parses requirements; None if neither packaging nor pip is there."""
    for module in ("packaging.requirements", "pip._vendor.packaging.requirements"):
        try:
            return importlib.import_module(module).Requirement
        except ImportError:
            continue
    return None


def _jax_problems() -> Iterator[Problem]:
    spec = getattr(sys.modules.get("jax"), "__spec__", None)
    if spec is not None and spec.name != "olympus":
        yield Problem(
            "JAX is imported in this process; OLYMPUS cannot run beside it",
            "use two processes, or `olympus.compat.install()` in place of JAX; "
            "`python -X importtime` shows who imports jax",
        )


# ---- devices ----


def devices() -> list[dict[str, Any]]:
    """Returns the platform, kind and id of each device of the default platform.

    Raises:
      RuntimeError: a platform that the settings request cannot be used, or XLA refuses its flags.
    """
    if refusal := _refusal_of_flags():
        raise RuntimeError(refusal)
    return [
        {"platform": device.platform, "kind": device.device_kind, "id": device.id}
        for device in backends.devices()
    ]


@functools.cache
def _refusal_of_flags() -> str | None:
    """Returns why XLA refuses the environment variable XLA_FLAGS; None if it accepts it.

    XLA ends the process in which it reads unknown flags, so another process reads them first.
    """
    if "XLA_FLAGS" not in os.environ:
        return None
    command = [sys.executable, "-c", "import jaxlib._jax as xla; xla.CompileOptions()"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.returncode:
        return None
    known = re.search(r"(Unknown flags? in XLA_FLAGS|Couldn't interpret value).*", done.stderr)
    return known.group() if known else done.stderr.strip().split("\n")[0]


def _device_problems() -> Iterator[Problem]:
    if refusal := _refusal_of_flags():
        yield Problem(
            f"programs cannot run, because XLA refuses its flags: {refusal}",
            "remove the flag from the environment variable XLA_FLAGS",
        )
        return
    try:
        backends.devices()
    except RuntimeError as error:
        yield Problem(
            f"the devices cannot be used: {error}",
            "change OLYMPUS_PLATFORMS, or install the platform's plugin",
        )
        return
    default = config.flag("olympus_default_device").value
    if isinstance(default, str):
        try:
            backends.devices(default)
        except RuntimeError as error:
            yield Problem(
                f"the default device {default!r} cannot be used: {error}",
                "change or unset OLYMPUS_DEFAULT_DEVICE",
            )
    if cuda.has_nvidia_gpu() and cuda.plugin_library() is None:
        yield Problem(
            "there is an NVIDIA GPU, but no plugin for it",
            'python -m pip install "olympus[cuda13]" (or cuda12)',
        )
    if tpu.has_tpu() and tpu.plugin_library() is None:
        yield Problem(
            "there is a TPU, but no plugin for it", 'python -m pip install "olympus[tpu]"'
        )
    jaxlib = importlib.metadata.version("jaxlib")
    for name, version in plugins().items():
        if name.startswith("jax-") and version.split(".")[:2] != jaxlib.split(".")[:2]:
            yield Problem(
                f"{name} {version} is not compatible with jaxlib {jaxlib}",
                f'python -m pip install "{name}=={jaxlib}"',
            )


# ---- settings ----


def flags_set() -> list[Flag]:
    """Returns the flags that a program or an environment variable has set."""
    flags = [config.flag(name) for name in config]
    return [flag for flag in flags if flag.origin != "default"]


def _setting_problems() -> Iterator[Problem]:
    known = {name.upper() for name in config} | _OTHER_VARIABLES
    for variable in sorted(os.environ):
        if variable.startswith("OLYMPUS_") and variable not in known:
            near = difflib.get_close_matches(variable, known, n=1)
            remedy = f"did you mean {near[0]}?" if near else "remove it"
            yield Problem(f"the environment variable {variable} has no meaning", remedy)
    for variable, reason in config.refused_variables.items():
        text = f"the environment variable {variable} is {os.environ[variable]!r}: {reason}"
        yield Problem(text, "set it to an accepted value, or unset it")


# ---- caches ----


def cache_in_force() -> Cache | None:
    """Returns the cache that the settings choose; None if they turn it off.

    Raises:
      OSError: the cache's folder cannot be used.
    """
    flags = config_cache_flags
    if not flags.enable_compilation_cache.value or flags.compilation_cache_max_size.value == 0:
        return None
    named = flags.compilation_cache_dir.value
    directory = Path(named) if named else cache_folder.prepared_folder("executables")
    if not directory.is_dir():
        return Cache(directory, 0, 0, None, None)
    contents = cache_store.DirectoryContents(directory)
    entries, size = len(contents.entries), contents.size
    if named:
        return Cache(directory, entries, size, None, None)
    programs = cache_store.DirectoryContents(cache_folder.prepared_folder("programs"))
    hits, misses = cache_usage.total_usage(directory)
    index = cache_store.DirectoryContents(cache_folder.prepared_folder(known_programs.FOLDER))
    size += programs.size + index.size
    return Cache(directory, entries, size, hits, misses, len(programs.entries))


def _can_be_written(directory: Path) -> bool:
    """Returns whether a process may write files in a directory, or make the directory."""
    nearest = next(folder for folder in (directory, *directory.parents) if folder.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def _cache_problems() -> Iterator[Problem]:
    named = config_cache_flags.compilation_cache_dir.value
    if named and "://" not in named and not _can_be_written(Path(named).absolute()):
        yield Problem(
            f"compiled programs are not kept on disk: {named} cannot be written",
            "repair the folder, or set OLYMPUS_COMPILATION_CACHE_DIR to another folder",
        )
    try:
        cache_in_force()
    except OSError as error:
        yield Problem(
            f"compiled programs are not kept on disk: {error}",
            "repair the folder, set OLYMPUS_CACHE_DIR to another folder, or turn the cache off "
            "with OLYMPUS_ENABLE_COMPILATION_CACHE=0",
        )


def problems() -> list[Problem]:
    """Returns all problems of this installation that can be found without running a program.

    Example:
      >>> all(problem.remedy for problem in problems())
      True
    """
    return [
        *_package_problems(),
        *_jax_problems(),
        *_device_problems(),
        *_setting_problems(),
        *_cache_problems(),
    ]


def machine() -> dict[str, str]:
    """Returns facts about the interpreter and the system, by name."""
    return {
        "python": platform.python_version(),
        "executable": sys.executable,
        "system": platform.platform(),
        "processors": str(os.cpu_count()),
    }
