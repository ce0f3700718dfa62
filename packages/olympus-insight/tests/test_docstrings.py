# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import doctest
import importlib

import pytest

import olympus_insight

MODULES = ["pages", *dict.fromkeys(olympus_insight._MODULES.values())]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"olympus_insight.{name}")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    results = doctest.testmod(module, optionflags=flags)
    assert results.attempted
    assert results.failed == 0


def test_each_name_has_a_docstring():
    for name in olympus_insight._MODULES:
        assert getattr(olympus_insight, name).__doc__
