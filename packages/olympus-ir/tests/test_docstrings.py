# SPDX-License-Identifier: Apache-2.0
import doctest
import importlib

import pytest

MODULES = """
annotating avals checker config config_states configuration dead_code dtypes errors extended_dtypes
function_caches jit lax.broadcasting lax.callbacks lax.calls lax.collectives lax.contractions
lax.control_flow.associative lax.control_flow.conditionals lax.control_flow.loops lax.compute_types
lax.control_flow.scanning lax.conversion lax.creation lax.dimensions lax.elementwise lax.gathering
lax.indexing lax.linalg.factoring lax.linalg.polar lax.linalg.solving lax.linalg.spectral lax.logic
lax.mathematics lax.named_axes lax.reductions lax.scattering lax.shaping lax.sorting make primitives
print_rules printer promotion pytree_paths pytree_prefix pytree_registry pytrees reference.arrays
rules shape_struct sizes staging symbolic.expressions symbolic.parsing symbolic.scopes
traceback_filtering tracing
""".split()
# Those of pytest's configuration.
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"olympus_ir.{name}")
    assert doctest.testmod(module, optionflags=OPTIONS).failed == 0
