# SPDX-License-Identifier: Apache-2.0
import doctest
import importlib
import re

import pytest

MODULES = """
diagnostics.errors diagnostics.traceback_filtering lax.annotating lax.broadcasting lax.callbacks
lax.calls lax.collectives lax.compute_types lax.contractions lax.control_flow.associative
lax.control_flow.conditionals lax.control_flow.loops lax.control_flow.scanning lax.conversion
lax.creation lax.dimensions lax.elementwise lax.gathering lax.indexing lax.linalg.factoring
lax.linalg.polar lax.linalg.solving lax.linalg.spectral lax.logic lax.mathematics lax.named_axes
lax.reductions lax.scattering lax.shaping lax.sizes lax.sorting programs.checker programs.dead_code
programs.calls.options programs.jit programs.make programs.primitives programs.print_rules
programs.printer programs.rules programs.staging programs.tracing reference.arrays settings.config
settings.config_states settings.configuration symbolic.expressions symbolic.scopes
symbolic.specifications
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
