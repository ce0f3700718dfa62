# SPDX-License-Identifier: Apache-2.0
"""``python -m olympus cache``: shows and clears the cache of compiled programs on disk."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from olympus_ir.settings import config_cache_flags
from olympus_xla.compiling import cache_folder, cache_store, cache_usage
from olympus_xla.compiling.recognition import known_programs

from . import installation
from .layout import bytes_text, section

__all__ = ["add_parser", "described"]


def add_parser(commands: Any) -> None:
    """Adds this command to the command line."""
    text = "shows or clears the cache of compiled programs on disk"
    parser = commands.add_parser("cache", help=text, description=text.capitalize() + ".")
    parser.set_defaults(run=_show)
    actions = parser.add_subparsers(title="actions", metavar="action")
    for name, help_text, run in (
        ("show", "shows the folder, entries, size and hits (the default)", _show),
        ("path", "prints the path of the folder", _print_path),
        ("clear", "removes all entries", _clear),
    ):
        action = actions.add_parser(name, help=help_text, description=help_text.capitalize() + ".")
        action.set_defaults(run=run)


def described(cache: installation.Cache | None) -> dict[str, str]:
    """Returns the facts about a cache, by name.

    Example:
      >>> described(None)
      {'state': 'off (olympus_enable_compilation_cache or olympus_compilation_cache_max_size)'}
    """
    if cache is None:
        flags = "olympus_enable_compilation_cache or olympus_compilation_cache_max_size"
        return {"state": f"off ({flags})"}
    facts = {
        "folder": str(cache.directory),
        "entries": str(cache.entries),
        "size": bytes_text(cache.size),
        "programs": f"{cache.programs} loadable without tracing (olympus_program_cache)",
    }
    if cache.hits is not None:
        facts["hits"] = f"{cache.hits}, and {cache.misses} misses, since the cache was cleared"
    return facts


def _directory() -> Path:
    named = config_cache_flags.compilation_cache_dir.value
    return Path(named) if named else cache_folder.folder_location() / "executables"


def _show(options: argparse.Namespace) -> int:
    try:
        section("", described(installation.cache_in_force()))
    except OSError as error:
        print(f"The cache cannot be used: {error}", file=sys.stderr)
        return 1
    return 0


def _print_path(options: argparse.Namespace) -> int:
    print(_directory())
    return 0


def _clear(options: argparse.Namespace) -> int:
    directory = _directory()
    try:
        removed = cache_store.ProgramCache(str(directory)).clear()
        if not config_cache_flags.compilation_cache_dir.value:
            programs = cache_folder.folder_location() / "programs"
            removed += cache_store.ProgramCache(str(programs)).clear()
            # The index, which lists the entries of executables, is not an entry itself.
            index = cache_folder.folder_location() / known_programs.FOLDER
            cache_store.ProgramCache(str(index)).clear()
        cache_usage.forget(directory)
    except OSError as error:
        print(f"The cache cannot be cleared: {error}", file=sys.stderr)
        return 1
    print(f"Removed {removed} {'entry' if removed == 1 else 'entries'} from {directory}.")
    return 0
