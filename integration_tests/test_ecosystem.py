# SPDX-License-Identifier: Apache-2.0
"""Programs that import JAX and libraries of its ecosystem train on OLYMPUS.

The libraries come from the package index, without JAX: ``nox -s ecosystem`` installs them.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "ecosystem"


def run_program(name: str) -> list[str]:
    command = [sys.executable, "-m", "olympus.compat", str(PROGRAMS / name)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def needs(*libraries: str) -> None:
    for library in libraries:
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed; `nox -s ecosystem` installs it")


# Programs of libraries for solvers and sampling, with what they need: each prints how far off it is
# at first and in the end.
SCIENCE = {
    "blackjax_nuts.py": ("blackjax", 1000),
    "diffrax_lotka_volterra.py": ("diffrax", 1000),
    "lineax_optimistix.py": ("optimistix", 1000),
    "numpyro_regression.py": ("numpyro", 50),
}


@pytest.mark.parametrize("program", SCIENCE)
def test_program_comes_closer(program: str) -> None:
    library, improvement = SCIENCE[program]
    needs(library, "optax")
    first, last = map(float, run_program(program))
    assert last * improvement < first


@pytest.mark.parametrize(
    ("program", "improvement"),
    [("optax_readme.py", 1000), ("optax_getting_started.py", 20), ("equinox_mlp.py", 50)],
)
def test_program_trains(program: str, improvement: float) -> None:
    needs("optax", "equinox")
    first, last = map(float, run_program(program))
    assert last * improvement < first
