# SPDX-License-Identifier: Apache-2.0
"""Random programs under random transformations: all evaluations of one program agree.

``nox -s fuzz`` runs more of them, beside JAX.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).parent.parent / "tools" / "differential" / "fuzz_programs.py"


def test_random_programs_agree_under_all_transformations():
    """Batches are compared with loops, and derivatives with finite differences."""
    command = [sys.executable, str(SCRIPT), "--seed", "18", "--count", "25", "--seconds", "1e9"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "25 programs" in done.stdout
