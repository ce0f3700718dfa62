# SPDX-License-Identifier: Apache-2.0
"""Errors of malformed calls show no line of the library, whatever public function is called."""

from __future__ import annotations

import ast
import sys
import traceback
import warnings
from pathlib import Path

import pytest

import olympus

sys.path.insert(0, str(Path(__file__).parent.parent / "tools" / "differential"))
try:
    import calls
finally:
    del sys.path[0]

# Mistakes, as expressions that take the place of the first argument.
MISTAKES = ("'text'", "None")

# Errors that programs expect of malformed calls.
EXPECTED = (TypeError, ValueError, IndexError, KeyError, NotImplementedError, ArithmeticError)

# Calls whose operand is asked for an attribute of its format, and a user's function that fails.
ASKED = ("sparse.", "root.pure_callback", "jsp.stats.gaussian_kde")

LIBRARY = tuple(str(path) for path in (Path(__file__).parent.parent / "packages").glob("*/src"))


def with_mistake(expression: str, mistake: str) -> str | None:
    """Returns a call whose first argument is replaced; None where the expression is no call."""
    tree = ast.parse(expression, mode="eval")
    call = tree.body
    if not isinstance(call, ast.Call) or not call.args:
        return None
    call.args[0] = ast.parse(mistake, mode="eval").body
    return ast.unparse(tree)


def shown(error: BaseException) -> list[str]:
    """Returns the library's lines that a traceback shows."""
    frames = traceback.extract_tb(error.__traceback__)
    return [
        f"{each.filename}:{each.lineno}" for each in frames if each.filename.startswith(LIBRARY)
    ]


def chain(error: BaseException) -> BaseException | None:
    """Returns the error that Python prints before this one."""
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("section", calls.sections())
def test_malformed_calls_show_no_line_of_the_library(section: str, mistake: str) -> None:
    faults = []
    for expression in calls.sections(section)[section]:
        call = with_mistake(expression, mistake)
        if call is None:
            continue
        names = calls.operands_of(call)
        values = [calls.operand(name, "float32") for name in names]
        operands = [
            olympus.random.wrap_key_data(value) if name == "key" else olympus.numpy.asarray(value)
            for name, value in zip(names, values, strict=True)
        ]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                calls.function(call, "olympus")(*operands)
        except Exception as error:
            if not isinstance(error, EXPECTED) and not call.startswith(ASKED):
                faults.append(f"{call}: {type(error).__name__}: {error}")
            if shown(error):
                faults.append(f"{call}: shows {shown(error)[-1]}")
            if chain(error) is not None:
                faults.append(f"{call}: is chained to {chain(error)!r}")
    assert faults == []
