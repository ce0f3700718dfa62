# SPDX-License-Identifier: Apache-2.0
"""Agreement of the notes and tables of the API reference with the code."""

from __future__ import annotations

import ast
import doctest
import sys
from pathlib import Path

import pytest

import olympus
import olympus.numpy as jnp
from olympus_ir.settings.configuration import State, config

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import reference_notes
import reference_tables


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sort", ["``descending`` in addition", "``kind``, ``order`` for compatibility"]),
        ("zeros", ["no ``order``", "numpy.zeros"]),
        ("sin", ["none of the options of ufuncs"]),
        ("tri", ["numpy.tri"]),
    ],
)
def test_differences_from_numpy(name: str, words: list[str]) -> None:
    said = reference_notes.difference("olympus.numpy", name, getattr(jnp, name))
    assert said is not None
    assert [word for word in words if word not in said] == []


def test_note_names_a_different_default() -> None:
    def fft(a, n=None, axis=0, norm=None): ...

    said = reference_notes.difference("olympus.numpy.fft", "fft", fft)
    assert said is not None
    assert "``axis`` is ``0`` by default, not ``-1``" in said


def test_names_missing_from_numpy_have_no_note() -> None:
    assert reference_notes.difference("olympus.numpy", "fill_diagonal_", jnp.sin) is None
    assert reference_notes.difference("olympus.lax", "sin", olympus.lax.sin) is None


def test_related_names_are_taken_from_the_docstring() -> None:
    pages = {f"olympus.{name}": f"olympus.{name}" for name in ("grad", "vjp", "vmap")}
    text = "Calls ``vjp``; see also `vmap(f)` and ``grad``. The argument ``x``."
    found = reference_notes.related("olympus.grad", olympus.grad, text, pages)
    assert found == ["olympus.vjp", "olympus.vmap"]


def test_guides_mention_names_of_modules(tmp_path: Path) -> None:
    (tmp_path / "loops.md").write_text("# Loops\n\n`lax.scan` and olympus.grad(f), `math.pi`.\n")
    found = reference_notes.guides(tmp_path)
    assert found == {
        "olympus.lax.scan": [("loops", "Loops")],
        "olympus.grad": [("loops", "Loops")],
    }


def test_every_flag_is_in_the_table() -> None:
    page = reference_tables.flags_page(config)
    assert [name for name in config._flags if f"`{name}`" not in page] == []
    assert "| `olympus_enable_x64` | `False` | yes | yes |" in page


@pytest.mark.parametrize(
    "name", [name for name in dir(olympus) if isinstance(getattr(olympus, name), State)]
)
def test_examples_of_flags_run(name: str) -> None:
    example = reference_notes.flag_example(name, getattr(olympus, name))
    test = doctest.DocTestParser().get_doctest(example, {}, name, None, None)
    assert len(test.examples) == 2
    assert doctest.DocTestRunner().run(test).failed == 0


def test_environment_variables_are_found_in_source() -> None:
    source = """
NAME = "OLYMPUS_SECRET"
os.environ.get(NAME); os.environ["XLA_FLAGS"]; variables.get("TPU_NAME", None)
"CUDA_PATH" in os.environ; table.get("lower"); table["OLYMPUS_OTHER"]
"""
    found = set(reference_tables.variables_of(ast.parse(source)))
    assert found == {"OLYMPUS_SECRET", "XLA_FLAGS", "TPU_NAME", "CUDA_PATH"}
    assert "OLYMPUS_COORDINATOR_SECRET" in reference_tables.variables_read()


def test_help_of_a_command_line() -> None:
    assert reference_tables.help_of("olympus cache").startswith("usage: python -m olympus cache")
    assert "--olympus-tiers" in reference_tables.help_of_plugin()
