# SPDX-License-Identifier: Apache-2.0
"""Programs and errors of single operations, compared with jax 0.10.2."""

from __future__ import annotations

import builtins
import importlib.util
import json
import pathlib
import warnings

import pytest

from olympus_ir import lax
from olympus_ir.programs.make import make_olympuspr

DATA = pathlib.Path(__file__).parents[1] / "data"
# Made by data/record_lax_programs.py.
RECORD = json.loads((DATA / "lax_programs.json").read_text("utf-8"))


def _load_expressions():
    specification = importlib.util.spec_from_file_location("lax_programs", DATA / "lax_programs.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


lax_programs = _load_expressions()


def test_the_record_is_complete():
    assert set(RECORD) == set(lax_programs.EXPRESSIONS)


@pytest.mark.parametrize("expression", RECORD)
def test_program_or_error_matches_jax(expression):
    fun, args = lax_programs.function_of(expression, lax)
    expected = RECORD[expression]
    if expected.isidentifier():
        with pytest.raises(getattr(builtins, expected)):
            make_olympuspr(fun)(*args)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        closed = make_olympuspr(fun)(*args)
    weak_types = "".join("w" if aval.weak_type else "-" for aval in closed.out_avals)
    assert f"{closed.pretty_print()} {weak_types}" == expected
