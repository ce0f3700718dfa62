# SPDX-License-Identifier: Apache-2.0
"""Comparison of the shardings' interface for type checkers with the classes of shardings."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import olympus_ir
import olympus_sharding

SOURCE = Path(olympus_ir.__file__).parent / "types" / "placement_interface.py"
CLASSES = {
    node.name: {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    for node in ast.parse(SOURCE.read_text("utf-8")).body
    if isinstance(node, ast.ClassDef) and node.name not in ("Client", "Device")  # the runtime's
}
# Members of the subclasses alone.
ELSEWHERE = {"_internal_device_list", "_memory_kind", "check_compatible_aval"}


def declared(name: str) -> set[str]:
    return set(CLASSES[name]) | set(CLASSES["Sharding"])


@pytest.mark.parametrize("name", CLASSES)
def test_declared_members_exist(name: str) -> None:
    kind = getattr(olympus_sharding, name)
    assert {each for each in CLASSES[name] if not hasattr(kind, each)} <= ELSEWHERE


@pytest.mark.parametrize("name", CLASSES)
def test_public_members_are_declared(name: str) -> None:
    kind = getattr(olympus_sharding, name)
    assert {each for each in dir(kind) if not each.startswith("_")} <= declared(name)


@pytest.mark.parametrize("name", CLASSES)
def test_parameters_of_methods_are_declared(name: str) -> None:
    kind = getattr(olympus_sharding, name)
    for method, node in CLASSES[name].items():
        member = inspect.getattr_static(kind, method, None)
        if not inspect.isfunction(member) or method == "__init__":
            continue
        arguments = node.args
        written = [each.arg for each in (*arguments.args, *arguments.kwonlyargs)]
        assert written == list(inspect.signature(member).parameters), method
