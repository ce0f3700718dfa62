# SPDX-License-Identifier: Apache-2.0
"""Checks that an installed wheel can be imported, and that undeclared packages are absent.

Usage: python check_isolation.py IMPORT_NAME [FOREIGN_IMPORT_NAME ...]
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path


def main(package: str, *foreign: str) -> None:
    """Imports ``package``, and fails if a name of ``foreign`` can be imported."""
    present = [name for name in foreign if importlib.util.find_spec(name) is not None]
    if present:
        sys.exit(
            f"{package} does not declare {', '.join(present)}, but these packages can be imported"
        )
    path = Path(importlib.import_module(package).__file__ or "")
    if Path(sys.prefix) not in path.parents:
        sys.exit(f"{package} is imported from {path}, which is not in {sys.prefix}")
    print(f"{package} is imported from its wheel; absent: {', '.join(foreign) or 'nothing'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
