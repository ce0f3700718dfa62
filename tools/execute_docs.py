# SPDX-License-Identifier: Apache-2.0
"""Runs the ``{code-cell}`` blocks of MyST documents in IPython kernels, one for each document.

The conventions for cells are in cells.py. ``%timeit`` measures fewer times than usual, because the
documents only show how to measure. Their figures are not checked.

Usage: python execute_docs.py docs/quickstart.md ...
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import nbformat
from cells import Cell, DocumentError, read_cells, read_shown
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

CELL_TIMEOUT = 300  # seconds
# the kernel warns about unencrypted TCP, also on a single machine
KERNEL_ARGUMENTS = ["--Application.log_level=ERROR"]
ANSI_COLOR = re.compile(r"\x1b\[[0-9;]*m")

PREPARATION = """
def _few_measurements(shell):
    timeit = shell.find_line_magic("timeit")
    def few(line, cell=None):
        return timeit("-n 3 -r 3 " + line, cell)
    shell.register_magic_function(few, "line_cell", "timeit")
_few_measurements(get_ipython())
"""


def printed_text(outputs: list[nbformat.NotebookNode]) -> str:
    """Returns the text that a reader sees below a cell: streams, value, last line of an error."""
    parts = []
    for output in outputs:
        match output.output_type:
            case "stream":
                parts.append(output.text)
            case "execute_result" | "display_data":
                parts.append(output.data.get("text/plain", "") + "\n")
            case "error":
                parts.append(f"{output.ename}: {output.evalue}\n")
    return ANSI_COLOR.sub("", "".join(parts))


def check_cell(cell: Cell, outputs: list[nbformat.NotebookNode]) -> None:
    """Compares the outcome of a cell with the document."""
    errors = [output for output in outputs if output.output_type == "error"]
    raised = errors[0].ename if errors else None
    if raised != cell.expected_error:
        traceback = ANSI_COLOR.sub("", "\n".join(errors[0].traceback)) if errors else ""
        raise DocumentError(
            f"{cell.location}: expected {cell.expected_error or 'success'}, "
            f"got {raised or 'success'}\n\n{cell.source}\n\n{traceback}"
        )
    cell.check_output(printed_text(outputs))


def check_shown(path: Path) -> int:
    """Checks the syntax of the blocks that are shown but not run, and returns their number."""
    blocks = read_shown(path)
    for block in blocks:
        try:
            compile(block.text, str(path), "exec")
        except SyntaxError as error:
            raise DocumentError(f"{path}:{block.first_line}: {error}") from None
    return len(blocks)


def run_document(path: Path) -> int:
    """Runs the cells of one document in order and returns their number."""
    cells = [cell for cell in read_cells(path) if "skip-execution" not in cell.tags]
    if not cells:
        return 0
    notebook = nbformat.v4.new_notebook()
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=CELL_TIMEOUT,
        allow_errors=True,
        extra_arguments=KERNEL_ARGUMENTS,
    )
    with client.setup_kernel(cwd=str(path.parent)):
        for index, source in enumerate([PREPARATION, *(cell.source for cell in cells)]):
            notebook.cells.append(nbformat.v4.new_code_cell(source))
            client.execute_cell(notebook.cells[index], index)
            if index:
                check_cell(cells[index - 1], notebook.cells[index].outputs)
    return len(cells)


def report_on(document: str) -> tuple[str, str | None]:
    """Runs a document, and returns a line about it, and the text of its failure, if any."""
    start = time.perf_counter()
    try:
        shown = check_shown(Path(document))
        count = run_document(Path(document))
    except (DocumentError, CellTimeoutError, DeadKernelError) as error:
        return f"{document}: FAILED", f"{document}: {error}"
    line = f"{document}: {count} cells in {time.perf_counter() - start:.1f} s"
    return line + (f"; {shown} blocks are shown but not run" if shown else ""), None


def main(*documents: str) -> None:
    """Runs every document, one on each core, and reports documents with other outcomes."""
    # Compiled programs are kept in a separate folder, not in the user's.
    os.environ.setdefault("OLYMPUS_CACHE_DIR", tempfile.mkdtemp(prefix="olympus-docs-"))
    # A slow machine would print a line about a long compilation among the expected output.
    os.environ.setdefault("OLYMPUS_SHOW_COMPILATION", "false")
    failures = []
    with ProcessPoolExecutor(min(len(documents), os.cpu_count() or 1) or 1) as processes:
        for line, failure in processes.map(report_on, documents):
            print(line, flush=True)
            failures += [failure] if failure else []
    if failures:
        sys.exit("\n\n".join(failures))


if __name__ == "__main__":
    main(*sys.argv[1:])
