# SPDX-License-Identifier: Apache-2.0
"""Child processes: a warning before forks that may hang, and safe start methods."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import multiprocessing, os, subprocess, sys, warnings
import numpy as np
import olympus_xla
from olympus_ir import lax


def double(queue):
    queue.put(float(lax.add(np.float32(2), np.float32(2))))


def child_of(method, target):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=target, args=(queue,))
    process.start()
    value = queue.get(timeout=60)
    process.join()
    return value


def plain(queue):
    queue.put("plain")


if __name__ == "__main__":
    warnings.simplefilter("always")
    # From 3.12 on, Python warns of forks while there are threads, too.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    with warnings.catch_warnings(record=True) as caught:
        child_of("fork", plain)
    print(len(caught))  # without devices, a fork is safe
    lax.add(np.float32(1), np.float32(2))
    with warnings.catch_warnings(record=True) as caught:
        child_of("fork", plain)
        # The child of a subprocess forks and starts another program at once.
        subprocess.run([sys.executable, "-c", ""], preexec_fn=os.getpid, check=True)
    (warning,) = caught
    print(warning.category.__name__, "spawn" in str(warning.message))
    print(os.path.basename(warning.filename))
    with warnings.catch_warnings(record=True) as caught:
        results = [child_of(method, double) for method in ("spawn", "forkserver")]
    print(results, len(caught))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_fork_after_initialization_warns(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["0", "RuntimeWarning True", "script.py", "[4.0, 4.0] 0"]
