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


def own_examples(module):
    """Yields the examples of a module that need no package above it."""
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        sources = [example.source for example in test.examples]
        if sources and not any(re.match(r"(import|from) olympus\b", each) for each in sources):
            yield test


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"olympus_autodiff.{name}")
    runner = doctest.DocTestRunner()
    for test in own_examples(module):
        runner.run(test)
    assert runner.tries
    assert runner.failures == 0


def test_examples_of_the_readme_run():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
