# SPDX-License-Identifier: Apache-2.0
"""Public functions have complete docstrings, whose examples hold."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import textwrap

import pytest

import olympus_numpy
from olympus_numpy.indexing.updates import IndexedUpdate

MODULES = [
    module.name
    for module in pkgutil.walk_packages(olympus_numpy.__path__, "olympus_numpy.")
    if not module.ispkg
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_show(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def _public_functions():
    namespaces = {"": olympus_numpy, "linalg.": olympus_numpy.linalg, "fft.": olympus_numpy.fft}
    classes = {"ufunc.": olympus_numpy.ufunc, "at[...].": IndexedUpdate}
    for prefix, namespace in namespaces.items():
        for name in namespace.__all__:
            function = getattr(namespace, name)
            if isinstance(function, olympus_numpy.ufunc):
                yield prefix + name, function
            elif inspect.isfunction(inspect.unwrap(function)) and _is_ours(function):
                yield prefix + name, inspect.unwrap(function)
    for prefix, owner in classes.items():
        for name, method in vars(owner).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                yield prefix + name, method


def _is_ours(function):
    return inspect.unwrap(function).__module__.startswith("olympus_numpy.")


def _missing_sections(function):
    doc = inspect.getdoc(function) or ""
    wanted = ["Example:"]
    if inspect.isfunction(function):
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        if any(isinstance(node, ast.Raise) for node in ast.walk(tree)):
            wanted.append("Raises:")
        signature = inspect.signature(function)
        if set(signature.parameters) - {"self"}:
            wanted.append("Args:")
        if signature.return_annotation not in ("None", "NoReturn"):
            wanted.append("Returns:")
    else:
        wanted += ["Args:", "Returns:"]
    return [section for section in wanted if section not in doc]


def test_docstrings_are_complete():
    incomplete = {}
    for name, function in _public_functions():
        if missing := _missing_sections(function):
            incomplete[name] = missing
    assert not incomplete
