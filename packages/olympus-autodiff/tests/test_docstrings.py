# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import doctest
import importlib
import pathlib
import re

import pytest

MODULES = (
    "custom.closures custom.custom_jvp custom.custom_vjp custom.stopped_gradients forward.jvp "
    "forward.linearize implicit.diagonals implicit.products "
    "rematerialization.checkpoint rematerialization.policies rematerialization.saved_residuals "
    "reverse.grad reverse.jacobian reverse.transpose reverse.vjp zeros"
).split()


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"olympus_autodiff.{name}")
    results = doctest.testmod(module)
    assert results.attempted
    assert results.failed == 0


def test_readme():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
