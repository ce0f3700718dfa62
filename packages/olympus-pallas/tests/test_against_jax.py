# SPDX-License-Identifier: Apache-2.0
"""Comparison of values and programs of kernels with jax 0.10.2; `data/record.py` recorded them."""

from __future__ import annotations

import importlib.util
import json
import pathlib

import numpy as np
import pytest

import olympus_numpy as jnp
import olympus_pallas as pl
from olympus_ir import ShapeDtypeStruct, lax, make_olympuspr
from olympus_pallas import tpu, triton

DATA = pathlib.Path(__file__).parent / "data"


def load_samples():
    specification = importlib.util.spec_from_file_location("kernels", DATA / "samples.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


samples = load_samples()
RECORDED = json.loads((DATA / "recorded.json").read_text())
KERNELS = samples.kernels(pl, triton, tpu, lax, jnp, ShapeDtypeStruct)


SIMULATED = samples.kernels(
    pl, triton, tpu, lax, jnp, ShapeDtypeStruct, interpret=tpu.InterpretParams()
)


@pytest.mark.parametrize("kernels", [KERNELS, SIMULATED], ids=["arrays", "cores"])
@pytest.mark.parametrize("name", RECORDED)
def test_values_are_those_of_jax(name, kernels):
    call, arguments = kernels[name]
    wanted = RECORDED[name]["value"]
    value = np.asarray(call(*arguments))
    assert list(value.shape) == wanted["shape"]
    assert str(value.dtype) == wanted["dtype"]
    some = value.reshape(-1)[:: max(value.size // 16, 1)]
    np.testing.assert_allclose(some, wanted["some"], rtol=1e-5, atol=1e-6)
    total = np.abs(value.astype(np.float64)).sum()
    np.testing.assert_allclose(total, wanted["sum"], rtol=1e-5)


@pytest.mark.parametrize("name", RECORDED)
def test_programs_are_those_of_jax(name):
    call, arguments = KERNELS[name]
    assert str(make_olympuspr(call)(*arguments)) == RECORDED[name]["program"]
