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
def test_science_program_reduces_its_loss(program: str) -> None:
    library, improvement = SCIENCE[program]
    needs(library, "optax")
    first, last = map(float, run_program(program))
    assert last * improvement < first


# Programs of libraries for networks, with what they need: each prints its loss at first and in the
# end.
NETWORKS = {
    "flax_cnn.py": ("flax", 20),
    "flax_nnx_mlp.py": ("flax", 20),
    "haiku_transformer.py": ("haiku", 5),
    "keras_network.py": ("keras", 3),
    "orbax_restore.py": ("orbax", 5),
}


@pytest.mark.parametrize("program", NETWORKS)
def test_network_trains(program: str) -> None:
    library, improvement = NETWORKS[program]
    needs("optax", "chex", library)
    first, last = map(float, run_program(program))
    assert last * improvement < first


FLAGS = """
import sys
sys.argv = ["program", "--jax_enable_x64", "--count=3", "--jax_default_matmul_precision=highest"]
import jax

if "now" in {how!r}:
    jax.config.parse_flags_with_absl()
    assert jax.config.jax_enable_x64
else:
    jax.config.config_with_absl()
    assert not jax.config.jax_enable_x64

from absl import app, flags

flags.DEFINE_integer("count", 1, "an option of the program's own")


def main(arguments):
    assert arguments == ["program"] and flags.FLAGS.count == 3
    assert jax.config.jax_enable_x64 and flags.FLAGS.jax_enable_x64
    assert jax.config.jax_default_matmul_precision == "highest"
    print("fine")


app.run(main)
"""


@pytest.mark.parametrize("how", ["now", "later"])
def test_absl_reads_the_flags(how: str) -> None:
    needs("absl")
    command = [sys.executable, "-m", "olympus.compat", "-c", FLAGS.format(how=how)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.strip() == "fine", done.stderr


@pytest.mark.parametrize(
    ("program", "improvement"),
    [("optax_readme.py", 1000), ("optax_getting_started.py", 20), ("equinox_mlp.py", 50)],
)
def test_program_reduces_its_loss(program: str, improvement: float) -> None:
    needs("optax", "equinox")
    first, last = map(float, run_program(program))
    assert last * improvement < first
