# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    "gpu.attention",
    "gpu.layer_norm",
    "gpu.rms_norm",
    "gpu.softmax",
    "tpu.attention.flash",
    "tpu.attention.masks",
    "tpu.attention.splash",
    "tpu.matmul",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    results = doctest.testmod(importlib.import_module(f"olympus_kernels.{name}"))
    assert results.attempted
    assert results.failed == 0
