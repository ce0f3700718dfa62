# SPDX-License-Identifier: Apache-2.0
"""Compiled samplers draw the same bits as jax 0.10.2.

The vectors are those of olympus-random's tests, which compare them with the reference evaluator's
results within rounding errors; here they are compared exactly, as long as XLA is the one that they
were recorded with. Another XLA draws the same bits, and rounds logarithms of them differently.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import pathlib

import numpy as np
import pytest

import olympus
from olympus import config
from olympus_ir._jaxlib import jaxlib_version

TESTS = pathlib.Path(__file__).parent.parent / "packages" / "olympus-random" / "tests"


def _module(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


recorded = _module(TESTS / "conftest.py")
draws = _module(TESTS / "data" / "draws.py")
# XLA computes the samples anew inside the sum of their squares, in the order of that loop.
SUMS = {"maxwell", "double_sided_maxwell"}
RECORDED_WITH = (0, 10)  # the jaxlib
RECORDS = json.loads((TESTS / "data" / "vectors.json").read_text())


@contextlib.contextmanager
def configured(record):
    before = {
        name: getattr(config, name)
        for name in ("olympus_threefry_partitionable", "olympus_enable_x64")
    }
    config.update("olympus_threefry_partitionable", record.get("partitionable", True))
    config.update("olympus_enable_x64", record.get("x64", False))
    try:
        yield
    finally:
        for name, value in before.items():
            config.update(name, value)


@pytest.mark.parametrize("record", RECORDS, ids=map(recorded.name_of, RECORDS))
def test_draws_are_the_recorded_ones(record):
    with configured(record):
        args, kwargs = draws.arguments(record, olympus.random)
        result = getattr(olympus.random, record["function"])(*args, **kwargs)
        if olympus.dtypes.issubdtype(result.dtype, olympus.dtypes.prng_key):
            result = olympus.random.key_data(result)
    expected = recorded.recorded_array(record)
    assert result.dtype == expected.dtype
    if record["function"] in SUMS:
        np.testing.assert_array_max_ulp(np.asarray(result), expected, maxulp=2)
    elif jaxlib_version[:2] == RECORDED_WITH or not np.issubdtype(expected.dtype, np.inexact):
        np.testing.assert_array_equal(np.asarray(result), expected)
    else:
        few_ulps = 16 * float(np.finfo(expected.dtype).eps)
        np.testing.assert_allclose(np.asarray(result), expected, rtol=few_ulps, atol=0)


def test_non_partitionable_threefry_numbers():
    # Printed in a talk of 2021, when the bits of a sequence were drawn in order.
    config.update("olympus_threefry_partitionable", False)
    try:
        key = olympus.random.PRNGKey(0)
        drawn = []
        for update in (True, False, True, True):
            new_key, subkey = olympus.random.split(key)
            drawn.append(olympus.random.normal(subkey, (2, 3), dtype=float))
            key = new_key if update else key
    finally:
        config.update("olympus_threefry_partitionable", True)
    printed = [
        [[-1.458, -2.047, -1.424], [1.168, -0.976, -1.272]],
        [[0.932, -0.004, -0.74], [-1.427, 1.06, 0.929]],
        [[0.932, -0.004, -0.74], [-1.427, 1.06, 0.929]],
        [[1.169, 0.312, -0.571], [0.137, 0.742, 0.038]],
    ]
    for found, expected in zip(drawn, printed, strict=True):
        np.testing.assert_allclose(np.asarray(found), expected, atol=6e-4)
