# SPDX-License-Identifier: Apache-2.0
"""Runs of programs in processes of their own, which measure themselves."""

from __future__ import annotations

import os
import subprocess
import sys

__all__ = ["caching_in", "times_of"]


def times_of(program: str, *arguments: str, **variables: str) -> tuple[float, float]:
    """Returns the processor and wall time that a program prints last, in a process of its own.

    Args:
      program: the text of the program.
      *arguments: its arguments on the command line.
      **variables: environment variables beyond those of this process.
    """
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    processor, wall = map(float, done.stdout.split()[-2:])
    return processor, wall


def caching_in(folder: str) -> dict[str, str]:
    """Returns the environment variables by which OLYMPUS and JAX keep executables in a folder."""
    return {
        "OLYMPUS_ENABLE_COMPILATION_CACHE": "1",
        "OLYMPUS_CACHE_DIR": folder,
        "JAX_COMPILATION_CACHE_DIR": folder,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
