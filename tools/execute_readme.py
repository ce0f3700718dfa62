# SPDX-License-Identifier: Apache-2.0
"""Runs the ``python`` blocks of plain Markdown documents, each document in a separate namespace.

Needs only the standard library, so the README of a package runs in an environment with only the
package. The conventions for cells are in cells.py.

Usage: python execute_readme.py README.md ...
"""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from pathlib import Path

from cells import Cell, DocumentError, read_cells


def run_cell(cell: Cell, namespace: dict[str, object]) -> None:
    """Runs one cell in ``namespace`` and compares the outcome with the document."""
    printed = io.StringIO()
    raised: Exception | None = None
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(cell.source, cell.location, "exec"), namespace)
    except Exception as error:
        if cell.expected_error is None:
            raise
        raised = error
        print(f"{type(error).__name__}: {error}", file=printed)
    if cell.expected_error is not None:
        name = type(raised).__name__ if raised else "nothing"
        if name != cell.expected_error:
            raise DocumentError(
                f"{cell.location}: expected {cell.expected_error}, raised {name}"
            ) from raised
    cell.check_output(printed.getvalue())


def run_document(path: Path) -> int:
    """Runs the cells of one document in order and returns their number."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    cells = [cell for cell in read_cells(path) if "skip-execution" not in cell.tags]
    for cell in cells:
        run_cell(cell, namespace)
    return len(cells)


def main(*documents: str) -> None:
    """Runs the documents, and stops at the first that fails."""
    warnings.simplefilter("error")
    for document in documents:
        try:
            count = run_document(Path(document))
        except DocumentError as error:
            sys.exit(str(error))
        print(f"{document}: {count} cells")


if __name__ == "__main__":
    main(*sys.argv[1:])
