# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    "block_specs",
    "calls",
    "control",
    "grids",
    "hints",
    "memory",
    "memory_access",
    "pipelines",
    "programs",
    "scoped",
    "sizes",
    "tpu",
    "tpu_primitives",
    "triton",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"olympus_pallas.{name}")
    results = doctest.testmod(module)
    assert results.attempted
    assert results.failed == 0
