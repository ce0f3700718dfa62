# SPDX-License-Identifier: Apache-2.0
"""Primitives with invalid operands and parameters: they raise, and nothing crashes."""

from __future__ import annotations

import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).parent / "fuzz_primitives.py"


def test_wrong_parameters_are_refused():
    """Runs in a subprocess, which a crash would end."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "10", "120"], capture_output=True, text=True, timeout=300
    )
    tail = done.stdout[-1000:] + done.stderr[-2000:]
    assert done.returncode == 0, f"the process died of the last one tried:\n{tail}"
    defects = [line for line in done.stdout.splitlines() if line.startswith("DEFECT")]
    assert not defects, "\n".join(defects)
