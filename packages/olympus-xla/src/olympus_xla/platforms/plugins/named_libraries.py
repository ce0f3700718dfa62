# SPDX-License-Identifier: Apache-2.0
"""Plugins of third parties, named by the environment variable PJRT_NAMES_AND_LIBRARY_PATHS."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from olympus_ir.settings.config_flags import pjrt_client_create_options

from ... import _jaxlib
from .. import backends

VARIABLE = "PJRT_NAMES_AND_LIBRARY_PATHS"


def parse_names_and_paths(text: str) -> dict[str, str]:
    """Parses the environment variable to a dictionary of library paths by plugin name.

    Raises:
      ValueError: an entry is not of the form ``name:path``.
    """
    plugins = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        name, separator, path = entry.partition(":")
        if not (separator and name and path):
            raise ValueError(
                f"{VARIABLE} must be a list like 'name:path,name:path', got the entry {entry!r}"
            )
        plugins[name] = path
    return plugins


def parse_client_options(text: str | None) -> dict[str, Any]:
    """Parses options of the form ``key:value;key:value``. Whole numbers become integers."""
    options: dict[str, Any] = {}
    for entry in filter(None, (text or "").split(";")):
        key, separator, value = entry.partition(":")
        if not separator:
            raise ValueError(
                "pjrt_client_create_options must be like 'key:value;key:value', got the entry "
                f"{entry!r}"
            )
        options[key.strip()] = int(value) if value.strip().lstrip("-").isdigit() else value.strip()
    return options


def register_library(name: str, path: str, priority: int = 400) -> None:
    """Registers the platform of a PJRT plugin under a name.

    Raises:
      FileNotFoundError: the library does not exist.
    """
    if not Path(path).exists():
        raise FileNotFoundError(f"the library {path} of the PJRT plugin {name!r} does not exist")

    def make_client() -> Any:
        if not _jaxlib.pjrt_plugin_loaded(name):
            _jaxlib.load_pjrt_plugin(name, path)
            _jaxlib.initialize_pjrt_plugin(name)
        options = parse_client_options(pjrt_client_create_options.value)
        return _jaxlib.make_c_api_client(name, options, None)

    backends.register_platform(backends.Platform(name, make_client, priority=priority))


for _name, _path in parse_names_and_paths(os.environ.get(VARIABLE, "")).items():
    register_library(_name, _path)
