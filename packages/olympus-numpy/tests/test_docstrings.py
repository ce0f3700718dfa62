# SPDX-License-Identifier: Apache-2.0
"""The examples in docstrings hold, with each evaluator."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import olympus_numpy

MODULES = [
    module.name
    for module in pkgutil.walk_packages(olympus_numpy.__path__, "olympus_numpy.")
    if not module.ispkg
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0
