# SPDX-License-Identifier: Apache-2.0
"""Examples in public docstrings run, in the tests of their module or here.

The session ``docs`` runs the examples that pytest finds: those of each module's own functions and
classes. It does not find docstrings that are attached to classes of C++, or to functions that name
a public module as theirs.
"""

from __future__ import annotations

import contextlib
import doctest
import enum
import importlib
import inspect
import pkgutil
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import olympus
from olympus._examples import with_public_names

PACKAGES = sorted(Path(__file__).resolve().parent.parent.glob("packages/*/src/*/__init__.py"))
OWN_MODULES = ("olympus", "jaxlib")

# Objects whose examples pytest does not find.
ATTACHED = {
    "Array": olympus.Array,
    "NamedSharding": olympus.sharding.NamedSharding,
    "SingleDeviceSharding": olympus.sharding.SingleDeviceSharding,
    "freeze": olympus.freeze,
}


def modules(package: str) -> Iterator[Any]:
    """Yields a package and the modules below it."""
    yield importlib.import_module(package)
    for found in pkgutil.walk_packages(sys.modules[package].__path__, f"{package}."):
        if "subprocesses" not in found.name and not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def loaded(module: Any) -> Any:
    """Returns a copy of a module after its lazily loaded names have been looked up.

    The copy leaves out modules, because deferred ones may be libraries that are not installed.
    """
    for name in dir(module):
        with contextlib.suppress(ImportError):
            getattr(module, name, None)
    copy = types.ModuleType(module.__name__, module.__doc__)
    kept = {
        name: value
        for name, value in vars(module).items()
        if not isinstance(value, types.ModuleType)
    }
    vars(copy).update(kept)
    return copy


def examples(docstring: str) -> tuple[str, ...]:
    """Returns the statements of the examples in a docstring."""
    parsed = doctest.DocTestParser().get_examples(with_public_names(docstring))
    return tuple(each.source.strip() for each in parsed)


def found_in_modules() -> set[tuple[str, ...]]:
    """Returns the examples that doctest finds in the modules of all packages."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    return {
        examples(test.docstring)
        for path in PACKAGES
        for module in modules(path.parent.name)
        for test in finder.find(loaded(module), module=module)
        if test.examples
    }


def public_objects() -> Iterator[tuple[str, Any]]:
    """Yields the objects that users find in `olympus`, with their names."""
    for module in modules("olympus"):
        if any(part.startswith("_") or part == "compat" for part in module.__name__.split(".")):
            continue
        for name in dir(module):
            if name.startswith("_"):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = getattr(module, name, None)
            home = getattr(value, "__module__", None)
            is_enum = isinstance(value, enum.EnumMeta)  # it has the docstring of Enum
            if isinstance(home, str) and home.startswith(OWN_MODULES) and not is_enum:
                yield f"{module.__name__}.{name}", value


def test_all_public_examples_are_collected() -> None:
    known = found_in_modules() | {examples(inspect.getdoc(each)) for each in ATTACHED.values()}
    left_out = {
        name
        for name, value in public_objects()
        if callable(value) and ">>>" in (text := inspect.getdoc(value) or "")
        if examples(text) not in known
    }
    assert not left_out


@pytest.mark.parametrize("name", ATTACHED)
def test_examples_of_attached_methods_run(name: str) -> None:
    text = with_public_names(inspect.getdoc(ATTACHED[name]))
    test = doctest.DocTestParser().get_doctest(text, {name: ATTACHED[name]}, name, None, None)
    assert test.examples
    printed: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=printed.append)
    assert not runner.failures, "".join(printed)
