# SPDX-License-Identifier: Apache-2.0
"""The examples of docstrings run."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["completeness", "tolerances", "samples.declarations"])
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"olympus_testing.{name}")
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
