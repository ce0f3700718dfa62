# SPDX-License-Identifier: Apache-2.0
import doctest
import importlib
import re

import pytest

MODULES = """
diagnostics.errors diagnostics.traceback_filtering lax.annotations.compute_types
lax.annotations.functions lax.callbacks lax.calls.primitives lax.collectives.named_axes
lax.collectives.operations lax.contractions.products lax.control_flow.associative
lax.control_flow.conditionals lax.control_flow.loops lax.control_flow.scanning lax.core.sizes
lax.elementwise.arithmetic lax.elementwise.conversion lax.elementwise.logic
lax.elementwise.mathematics lax.indexing.gathering lax.indexing.scattering lax.indexing.slicing
lax.linalg.factoring lax.linalg.polar lax.linalg.solving lax.linalg.spectral lax.reductions
lax.shaping.broadcasting lax.shaping.creation lax.shaping.dimensions lax.shaping.rearrangement
lax.sorting.ordering programs.calls.options programs.checker programs.dead_code programs.jit
programs.make programs.primitives programs.print_rules programs.printer programs.rules
programs.staging programs.tracing reference.arrays settings.config settings.config_states
settings.configuration symbolic.expressions symbolic.scopes symbolic.specifications
trees.function_caches trees.pytree_paths trees.pytree_prefix trees.pytree_registry trees.pytrees
types.avals types.dtypes types.extended_dtypes types.promotion types.shape_struct
""".split()
# Those of pytest's configuration.
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


def own_examples(module):
    """Yields the examples of a module that need no package above it."""
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        sources = [example.source for example in test.examples]
        if sources and not any(re.match(r"(import|from) olympus\b", each) for each in sources):
            yield test


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"olympus_ir.{name}")
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    for test in own_examples(module):
        runner.run(test)
    assert runner.failures == 0
