# SPDX-License-Identifier: Apache-2.0
"""Comparison of the arrays' interface for type checkers with the class of arrays."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import olympus_ir
import olympus_numpy as onp

SOURCE = Path(olympus_ir.__file__).parent / "types" / "array_interface.py"
CLASSES = {
    node.name: {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    for node in ast.parse(SOURCE.read_text("utf-8")).body
    if isinstance(node, ast.ClassDef)
}
# Members of device arrays, which the NumPy evaluator's arrays need not have.
PLACEMENT = frozenset(
    "device sharding format committed is_fully_addressable is_fully_replicated addressable_shards "
    "global_shards traceback addressable_data devices block_until_ready copy_to_host_async delete "
    "is_deleted is_ready on_device_size_in_bytes to_device unsafe_buffer_pointer tobytes tolist "
    "__dlpack__ __dlpack_device__".split()
)


def parameters(node: ast.FunctionDef) -> list[str]:
    arguments = node.args
    named = [each.arg for each in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
    return [name for name in named if name != "self"]


def test_declared_members_exist():
    x = onp.ones(3)
    missing = [name for name in CLASSES["Array"] if not hasattr(type(x), name)]
    assert set(missing) <= PLACEMENT


def test_attached_members_are_declared():
    attached = {
        name for name in dir(onp.ones(3)) if name in dir(onp.Array) and not name.startswith("_")
    }
    assert attached <= set(CLASSES["Array"])


@pytest.mark.parametrize("name", sorted(n for n in CLASSES["Array"] if not n.startswith("__")))
def test_parameters_of_methods_are_declared(name):
    member = inspect.getattr_static(onp.Array, name, None)
    if name in PLACEMENT or member is None or isinstance(member, property):
        return
    signature = inspect.signature(getattr(onp.Array, name))
    own = [each for each in signature.parameters if each not in ("self", "args")]
    declared = parameters(CLASSES["Array"][name])
    assert declared == (own[1:] if own[:1] == ["a"] else own)


@pytest.mark.parametrize("name", sorted(CLASSES["IndexUpdate"]))
def test_parameters_of_updates_are_declared(name):
    own = list(inspect.signature(getattr(onp.ones(3).at[0], name)).parameters)
    declared = parameters(CLASSES["IndexUpdate"][name])
    assert set(declared) <= set(own)
    assert own[0] == declared[0]
