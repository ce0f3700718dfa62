# SPDX-License-Identifier: Apache-2.0
"""Fixtures that repeat recorded calls."""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import json
import pathlib

import ml_dtypes
import numpy as np
import pytest

import olympus_random
from olympus_ir.settings import config
from olympus_ir.types import dtypes

DATA = pathlib.Path(__file__).parent / "data"


def load_draws():
    specification = importlib.util.spec_from_file_location("draws", DATA / "draws.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def recorded_array(record):
    dtype = np.dtype(getattr(ml_dtypes, record["dtype"], record["dtype"]))
    array = np.frombuffer(base64.b64decode(record["bytes"]), dtype)
    return array.reshape(record["shape"])


def name_of(record):
    options = [name for name in ("x64",) if record.get(name)]
    options += [record["impl"]] if "impl" in record else []
    if not record.get("partitionable", True):
        options.append("in_sequence")
    args = ",".join(str(arg)[:20] for arg in [*record["args"], *record["kwargs"].values()])
    return "-".join([record["function"], args, f"seed={record['seed']}", *options])


def pytest_generate_tests(metafunc):
    if "record" in metafunc.fixturenames:
        records = json.loads((DATA / "vectors.json").read_text())
        metafunc.parametrize("record", records, ids=map(name_of, records))


@pytest.fixture
def draw():
    """Repeats a recorded call; returns its result and the recorded result."""
    draws = load_draws()

    def repeat(record):
        with contextlib.ExitStack() as stack:
            stack.enter_context(config.threefry_partitionable(record.get("partitionable", True)))
            stack.enter_context(config.enable_x64(record.get("x64", False)))
            args, kwargs = draws.arguments(record, olympus_random)
            result = getattr(olympus_random, record["function"])(*args, **kwargs)
            if dtypes.is_extended(result.dtype):
                result = olympus_random.key_data(result)
            return np.asarray(result), recorded_array(record)

    return repeat
