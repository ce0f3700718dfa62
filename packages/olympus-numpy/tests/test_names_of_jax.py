# SPDX-License-Identifier: Apache-2.0
"""Presence of all names of ``jax.numpy`` with JAX's parameters, except for those listed here."""

from __future__ import annotations

import importlib
import inspect
import json
import pathlib
import subprocess
import sys

import pytest

import olympus_numpy as jnp
from olympus_numpy import lazy_names, linalg

RECORDED = json.loads((pathlib.Path(__file__).parent / "recorded" / "names.json").read_text())

# Functions whose parameters differ on purpose.
OTHER_PARAMETERS = {"einsum", "take_along_axis"}
MODULES = {"numpy": jnp, "numpy.linalg": linalg}


@pytest.mark.parametrize("module", MODULES)
def test_no_name_of_jax_is_missing(module):
    missing = {name for name in RECORDED[module] if not hasattr(MODULES[module], name)}
    assert not missing


@pytest.mark.parametrize("module", MODULES)
def test_parameters_are_those_of_jax(module):
    different = {}
    for name, parameters in RECORDED[module].items():
        function = getattr(MODULES[module], name, None)
        full_name = f"linalg.{name}" if module == "numpy.linalg" else name
        if not parameters or function is None or full_name in OTHER_PARAMETERS:
            continue
        got = [str(one) for one in inspect.signature(function).parameters]
        if got != parameters:
            different[name] = (parameters, got)
    assert not different


@pytest.mark.parametrize("module", sorted(lazy_names.MODULES))
def test_modules_that_are_loaded_later(module):
    names = importlib.import_module(f"olympus_numpy.{module}").__all__
    assert lazy_names.MODULES[module].split() == sorted(names)
    # The import of a submodule of that name would replace the function.
    assert module not in lazy_names.MODULE_OF


def test_names_of_later_modules_are_listed():
    code = "import olympus_numpy as jnp; print('polyval' in vars(jnp), 'polyval' in dir(jnp))"
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert listed.stdout.split() == [b"False", b"True"]
    assert jnp.polyval is importlib.import_module("olympus_numpy.numerics.polynomials").polyval
    with pytest.raises(AttributeError, match="has no attribute 'polyvil'"):
        _ = jnp.polyvil


def test_modules_of_linear_algebra_are_loaded_later():
    for module, names in linalg._MODULES.items():
        exported = importlib.import_module(f"olympus_numpy.linalg.{module}").__all__
        assert names.split() == sorted(exported)
    code = (
        "import sys, olympus_numpy as jnp; jnp.linalg.norm(jnp.ones((2, 2))); "
        "print([name for name in sys.modules if name.startswith('olympus_ir.lax.linalg')])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert loaded.stdout.strip() == b"[]"


def test_importing_loads_no_derivatives():
    code = (
        "import sys, olympus_numpy as jnp; jnp.add(1.0, 2.0); "
        "print([name for name in sys.modules if name.startswith('olympus_autodiff')])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert loaded.stdout.strip() == b"[]"


def test_everything_is_documented():
    undocumented = []
    for module, names in RECORDED.items():
        for name, parameters in names.items():
            function = getattr(MODULES[module], name, None)
            if parameters and function is not None and not inspect.getdoc(function):
                undocumented.append(name)
    assert not undocumented
