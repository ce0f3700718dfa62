# SPDX-License-Identifier: Apache-2.0
"""Training jobs that are killed while they write, on a full disk, or lose one of their processes.

A job that is started again goes on from a step that was committed, and ends with the numbers of a
job that nothing happened to.
"""

from __future__ import annotations

import importlib.util
import random
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tensorstore")

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = [sys.executable, str(ROOT / "examples" / "restart.py")]
ORBAX = [
    sys.executable,
    "-m",
    "olympus.compat",
    str(ROOT / "integration_tests/ecosystem/orbax_job.py"),
]
STEPS = ("--steps", "400", "--every", "5")


def start(command, *arguments, **options):
    return subprocess.Popen(
        [*command, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def finish(process):
    """Returns the lines that a job printed until it ended well."""
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors[-3000:]
    return output.splitlines()


def killed(process, commits, pause):
    """Kills a job some milliseconds after it has committed so many steps; returns its lines."""
    lines = []
    while sum(line.startswith("committed") for line in lines) < commits:
        line = process.stdout.readline()
        if not line:
            break
        lines.append(line.strip())
    try:
        process.wait(pause)
    except subprocess.TimeoutExpired:
        process.kill()
    output, errors = process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGKILL), errors[-3000:]
    return [*lines, *output.splitlines()]


def committed(lines):
    """Returns the steps that a job said it had committed."""
    return [int(line.split()[2].rstrip(",")) for line in lines if line.startswith("committed")]


def resumed(lines):
    """Returns the step from which a job went on, 0 for its first step."""
    found = [int(line.split()[-1]) for line in lines if line.startswith("goes on")]
    return found[0] if found else 0


def kill_and_restart(command, folder, seed, times):
    """Kills a job again and again; no committed step may be lost. Returns its last lines."""
    rng = random.Random(seed)
    newest = 0
    for _ in range(times):
        process = start(command, folder, *STEPS)
        lines = killed(process, rng.randrange(1, 6), rng.uniform(0, 0.08))
        assert resumed(lines) >= newest, lines
        newest = max([newest, *committed(lines)])
    lines = finish(start(command, folder, *STEPS))
    assert resumed(lines) >= newest > 0, lines
    return lines


def test_job_killed_at_random_times_resumes(tmp_path):
    lines = kill_and_restart(EXAMPLE, tmp_path / "killed", 0, times=4)
    whole = finish(start(EXAMPLE, tmp_path / "whole", *STEPS))
    assert lines[-1] == whole[-1] and whole[-1].startswith("done")


def test_orbax_job_killed_at_random_times_resumes(tmp_path):
    if importlib.util.find_spec("orbax") is None:
        pytest.skip("orbax is not installed; `nox -s ecosystem` installs it")
    lines = kill_and_restart(ORBAX, tmp_path / "killed", 2, times=4)
    whole = finish(start(ORBAX, tmp_path / "whole", *STEPS))
    assert lines[-1] == whole[-1] and whole[-1].startswith("done")


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path):
    folder = tmp_path / "job"
    finish(start(EXAMPLE, folder, "--steps", 40, "--every", 20))

    def limit_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    process = start(EXAMPLE, folder, "--steps", 100, "--every", 20, preexec_fn=limit_files)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1 and "File too large" in errors, errors
    lines = finish(start(EXAMPLE, folder, "--steps", 100, "--every", 20))
    assert resumed(lines) == 40
    whole = finish(start(EXAMPLE, tmp_path / "whole", "--steps", 100, "--every", 20))
    assert lines[-1] == whole[-1]


def start_two(folder, *arguments):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        coordinator = ("--coordinator", f"localhost:{free.getsockname()[1]}", "--processes", 2)
    return [
        start(EXAMPLE, folder, *arguments, *coordinator, "--process", number) for number in range(2)
    ]


@pytest.mark.thorough("1")
@pytest.mark.parametrize("lost", [0, 1])
def test_job_resumes_after_a_process_dies(tmp_path, lost):
    folder = tmp_path / "job"
    processes = start_two(folder, "--steps", 100_000, "--every", 20)
    lines: list[str] = []
    while len(committed(lines)) < 2:
        lines.append(processes[0].stdout.readline())
        assert lines[-1], processes[0].stderr.read()
    processes[lost].kill()
    output, errors = processes[1 - lost].communicate(timeout=120)
    # An exception: of the process monitor, or of the connection that broke.
    assert processes[1 - lost].returncode == 1, errors
    assert "ProcessFailureError" in errors or "Connection" in errors, errors
    rest, _ = processes[lost].communicate(timeout=60)
    lines += (output if lost else rest).splitlines()
    newest = max(committed(lines))
    steps = ("--steps", newest + 100, "--every", 20)
    first, second = start_two(folder, *steps)
    finish(second)
    lines = finish(first)
    assert resumed(lines) >= newest
    whole = finish(start(EXAMPLE, tmp_path / "whole", *steps))
    assert lines[-1] == whole[-1]
