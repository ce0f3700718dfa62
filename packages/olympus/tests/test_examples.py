# SPDX-License-Identifier: Apache-2.0
"""Examples that `help()` shows import from the public modules."""

import importlib
import pkgutil
import re

import pytest

import olympus
from olympus._examples import with_public_names

IMPORTS = re.compile(r"^ *>>> ((?:from|import) .*)$", re.MULTILINE)

# Imports of objects that no public module has.
INNER = {
    "from olympus_ir.programs.tracing import extend_axes",
    "from olympus_ir import ShapedArray, trace_to_olympuspr",
    "from olympus_ir import ShapedArray, lax, trace_to_olympuspr",
    "from olympus_ir.types.memory_spaces import MemorySpace",
    "from olympus_ir.references import primitives as references",
    "from olympus_xla._jaxlib import HloSharding",
}


def public_modules(name="olympus"):
    module = importlib.import_module(name)
    yield module
    for info in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if not info.name.startswith("_") and info.name not in ("compat", "command_line"):
            try:
                yield from public_modules(f"{name}.{info.name}")
            except ImportError:  # needs an optional library
                continue


def shown_imports():
    """Returns the imports in the docstrings of all public objects and their members."""
    found = set()
    for module in public_modules():
        for name in dir(module):
            value = None if name.startswith("_") else getattr(module, name, None)
            if not callable(value):
                continue
            members = list(vars(value).values()) if isinstance(value, type) else []
            for each in (value, *members):
                docstring = getattr(each, "__doc__", None)
                if isinstance(docstring, str):
                    found.update(IMPORTS.findall(docstring))
    return found


def test_public_docstrings_import_public_names():
    shown = shown_imports()
    inner = {line for line in shown if re.match(r"(from|import) olympus_", line)}
    assert inner <= INNER
    public = {line for line in shown if re.match(r"(from|import) olympus\b", line)}
    assert len(public) > 80
    for line in public:
        if not line.endswith("("):
            exec(line, {})


def test_a_docstring_of_each_kind():
    assert ">>> import olympus.numpy as jnp" in olympus.numpy.linalg.matrix_function.__doc__
    assert ">>> from olympus import lax" in olympus.jvp.__doc__
    assert "olympus_" not in olympus.ShapeDtypeStruct.__doc__


@pytest.mark.parametrize(
    "before, after",
    [
        ("from olympus_ir import lax", "from olympus import lax"),
        ("from olympus_ir import ShapedArray", "from olympus.core import ShapedArray"),
        ("from olympus_ir import ShapedArray, lax", "from olympus_ir import ShapedArray, lax"),
        ("import olympus_numpy as jnp", "import olympus.numpy as jnp"),
        ("from olympus_ir.trees import pytrees", "from olympus import tree_util as pytrees"),
        ("from olympus_random import key, normal", "from olympus.random import key, normal"),
        ("from olympus_xla._jaxlib import x", "from olympus_xla._jaxlib import x"),
        ("import numpy as np", "import numpy as np"),
    ],
)
def test_examples_import_public_names(before, after):
    assert with_public_names(f"F.\n\n  >>> {before}\n") == f"F.\n\n  >>> {after}\n"


def test_prose_is_unchanged():
    text = "Uses `olympus_ir` as from olympus_ir import lax does."
    assert with_public_names(text) == text
