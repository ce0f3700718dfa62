# SPDX-License-Identifier: Apache-2.0
"""``python -m olympus doctor``: shows details of the installation, and its problems."""

from __future__ import annotations

import argparse
import os
from typing import Any

from . import installation
from .caches import described
from .layout import section

__all__ = ["add_parser", "run"]


def add_parser(commands: Any) -> None:
    """Adds this command to the command line."""
    text = "shows versions, devices, settings and caches, and problems with them"
    parser = commands.add_parser("doctor", help=text, description=text.capitalize() + ".")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the report; returns 1 if there is a problem."""
    found = installation.problems()
    section("Versions", {**installation.machine(), **installation.versions()})
    section("Devices", _devices())
    section("Plugins", installation.plugins() or {"none": "programs run on the CPU"})
    section("Extras", _extras())
    section("Settings", _settings())
    section("Cache", _cache())
    if not found:
        print("\nNo problem found.")
        return 0
    print(f"\n{len(found)} problem{'s' if len(found) > 1 else ''} found:")
    for problem in found:
        print(f"\n- {problem.text}\n  To fix it: {problem.remedy}")
    return 1


def _devices() -> dict[str, str]:
    try:
        devices = installation.devices()
    except RuntimeError as error:
        return {"none": str(error).splitlines()[0]}
    return {f"{device['platform']}:{device['id']}": device["kind"] for device in devices}


def _extras() -> dict[str, str]:
    return {
        extra: f"needs {', '.join(missing)}" if missing else "installed"
        for extra, missing in installation.extras().items()
    }


def _settings() -> dict[str, str]:
    shown = {
        flag.flag_name: f"{flag.value!r}, from {_place(flag.origin)}"
        for flag in installation.flags_set()
    }
    for variable in ("XLA_FLAGS", "LIBTPU_INIT_ARGS"):
        if variable in os.environ:
            shown[variable] = os.environ[variable]
    return shown or {"none": "all flags have their defaults"}


def _place(origin: str) -> str:
    return "the program" if origin == "program" else f"the environment variable {origin}"


def _cache() -> dict[str, str]:
    try:
        return described(installation.cache_in_force())
    except OSError as error:
        return {"refused": str(error)}
