# SPDX-License-Identifier: Apache-2.0
import doctest
import importlib

import pytest

MODULES = """config config_states configuration dtypes errors extended_dtypes promotion pytree_paths
pytree_prefix pytree_registry pytrees traceback_filtering""".split()


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"olympus_ir.{name}")
    assert doctest.testmod(module).failed == 0
