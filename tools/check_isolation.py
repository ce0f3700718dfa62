# SPDX-License-Identifier: Apache-2.0
"""Checks that a package is imported from an installed wheel, and that its strangers are absent.

Usage: python check_isolation.py IMPORT_NAME [FOREIGN_IMPORT_NAME ...]
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path


def main(package: str, *foreign: str) -> None:
    """Imports ``package`` and refuses every importable name of ``foreign``."""
    present = [name for name in foreign if importlib.util.find_spec(name) is not None]
    if present:
        sys.exit(f"{package} does not declare {', '.join(present)}, yet they are importable here")
    path = Path(importlib.import_module(package).__file__ or "")
    if Path(sys.prefix) not in path.parents:
        sys.exit(f"{package} is imported from {path}, which is not in {sys.prefix}")
    print(f"{package} is imported from its wheel; absent: {', '.join(foreign) or 'nothing'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
