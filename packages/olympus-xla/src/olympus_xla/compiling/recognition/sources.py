# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the source files of packages, which change if a file is edited."""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Iterator

__all__ = ["OLYMPUS_PACKAGES", "source_files"]

#: The import names of OLYMPUS's packages.
OLYMPUS_PACKAGES = (
    "olympus olympus_ir olympus_batching olympus_autodiff olympus_sharding olympus_xla "
    "olympus_export olympus_numpy olympus_random olympus_checkify olympus_kernels olympus_nn "
    "olympus_scipy olympus_sparse olympus_pallas olympus_insight"
).split()


@functools.cache
def source_files(packages: tuple[str, ...]) -> str:
    """Returns the paths, modification times and sizes of all source files of packages.

    Python, too, finds by times and sizes that a source file has changed. Packages that are not
    installed are left out.

    Args:
      packages: the import names.
    """
    lines: list[str] = []
    for name in packages:
        spec = importlib.util.find_spec(name)
        for folder in () if spec is None else spec.submodule_search_locations or ():
            lines += (name, folder, *_files_below(folder))
    return "\n".join(lines)


def _files_below(folder: str) -> Iterator[str]:
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.endswith(".py"):
            status = entry.stat()
            yield f"{entry.name} {status.st_mtime_ns} {status.st_size}"
        elif entry.name != "__pycache__" and entry.is_dir():
            yield entry.name
            yield from _files_below(entry.path)
