# SPDX-License-Identifier: Apache-2.0
"""The examples in docstrings hold, with each evaluator."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import olympus_numpy

MODULES = [module.name for module in pkgutil.iter_modules(olympus_numpy.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"olympus_numpy.{name}")
    assert doctest.testmod(module).failed == 0
