# SPDX-License-Identifier: Apache-2.0
"""The examples in docstrings hold."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import olympus_random

MODULES = [
    module.name
    for module in pkgutil.walk_packages(olympus_random.__path__, "olympus_random.")
    if not module.ispkg
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0
