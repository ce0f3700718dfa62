# SPDX-License-Identifier: Apache-2.0
"""Tables of the private modules of JAX and of their names, one module for each subject."""

from __future__ import annotations

from collections.abc import Mapping

from .array_functions import ARRAY_FUNCTIONS
from .modules import WHOLE_MODULES
from .programs import PROGRAMS
from .references import REFERENCES
from .runtime import RUNTIME
from .test_helpers import SPARSE_HELPERS, TEST_HELPERS

__all__ = ["NAMES", "SPARSE_HELPERS", "WHOLE_MODULES"]


def _merged(*tables: Mapping[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Returns one table with the names of all."""
    names: dict[str, dict[str, str]] = {}
    for table in tables:
        for module, own in table.items():
            names[module] = {**names.get(module, {}), **own}
    return names


# Further names of the modules below `jax._src`, which the modules in `WHOLE_MODULES` lack.
NAMES = _merged(PROGRAMS, ARRAY_FUNCTIONS, RUNTIME, REFERENCES, TEST_HELPERS)
