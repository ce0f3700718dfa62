# SPDX-License-Identifier: Apache-2.0
"""``python -m olympus info``: prints details of the installation, for bug reports and programs."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from olympus_xla.platforms.environment_info import print_environment_info

from . import installation

__all__ = ["add_parser", "facts"]

_VARIABLES = ("OLYMPUS_", "JAX_", "XLA_", "LIBTPU_")


def add_parser(commands: Any) -> None:
    """Adds this command to the command line."""
    text = "prints versions, devices and settings, for reports of problems"
    parser = commands.add_parser("info", help=text, description=text.capitalize() + ".")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_run)


def facts() -> dict[str, Any]:
    """Returns the facts about the installation, as values for JSON.

    Example:
      >>> ", ".join(facts())
      'versions, machine, devices, plugins, extras, flags, environment, cache, problems'
    """
    try:
        devices = installation.devices()
    except RuntimeError:
        devices = []
    return {
        "versions": installation.versions(),
        "machine": installation.machine(),
        "devices": devices,
        "plugins": installation.plugins(),
        "extras": {name: not missing for name, missing in installation.extras().items()},
        "flags": {
            flag.flag_name: {"value": _plain(flag.value), "origin": flag.origin}
            for flag in installation.flags_set()
        },
        "environment": {
            name: value for name, value in os.environ.items() if name.startswith(_VARIABLES)
        },
        "cache": _cache(),
        "problems": [problem._asdict() for problem in installation.problems()],
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


def _cache() -> dict[str, Any] | None:
    try:
        cache = installation.cache_in_force()
    except OSError as error:
        return {"refused": str(error)}
    return None if cache is None else {**cache._asdict(), "directory": str(cache.directory)}


def _run(options: argparse.Namespace) -> int:
    if options.json:
        print(json.dumps(facts(), indent=2))
    else:
        print_environment_info()
    return 0
