# SPDX-License-Identifier: Apache-2.0
"""Digests of functions: equal and different functions, and functions without digest."""

import math
import types

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.programs.calls.identity import UnknownIdentityError, digest


def none(value):
    return None


def function_of(source, **names):
    """Returns the function `f` that a source defines in a new module."""
    module = types.ModuleType("edited")
    vars(module).update(names)
    exec(compile(source, "<edited>", "exec"), vars(module))
    return module.f


def same(one, other):
    return digest(one, none) == digest(other, none)


def test_equal_functions_have_equal_digests():
    source = "def f(x): return lax.sin(x) * K"
    assert same(function_of(source, lax=lax, K=2.0), function_of("\n\n" + source, lax=lax, K=2.0))
    assert not same(function_of(source, lax=lax, K=2.0), function_of(source, lax=lax, K=3.0))
    assert not same(function_of(source, lax=lax, K=2.0), function_of(source, lax=math, K=2.0))
    unread = function_of(source + "\nL = 1", lax=lax, K=2.0)
    assert same(function_of(source, lax=lax, K=2.0), unread)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0),
        (1, 1.0),
        (1, True),
        (1.0, 1 + 0j),
        ("a", b"a"),
        ([1], (1,)),
        ([[1], 2], [1, [2]]),
        ({"a": 1}, {"a": 2}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (np.float32(1), np.float64(1)),
        (np.zeros(2), np.zeros((2, 1))),
        (np.zeros(1, np.int32), np.zeros(1, np.float32)),
        (slice(1), slice(2)),
        (math.sin, math.cos),
        (np.sin, np.cos),
        (np.float32, np.float64),
    ],
    ids=repr,
)
def test_values_that_differ(one, other):
    assert not same(one, other)
    assert same(one, one)


def test_sets_have_no_order():
    names = [f"name{number}" for number in range(20)]
    names_backwards = names[::-1]
    assert same(set(names), set(names_backwards))


def test_cyclic_containers_have_digests():
    one, other = [], []
    one.append(one)
    other.append(other)
    assert same(one, other)
    assert not same(one, [[]])


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def f(): return open('x')", "calls open"),
        ("def f():\n import os\n return os", "IMPORT_NAME"),
        ("def f():\n global K\n K = 1", "STORE_GLOBAL"),
        ("def f(): return m", "m in `f` is a module that is used as a value"),
        ("def f(): return np.random.normal()", "numpy.random"),
        ("def f(): return f.__globals__", "reads __globals__"),
        ("def f():\n class A: pass\n return A", "LOAD_BUILD_CLASS"),
        (
            "def g():\n k = 1\n def f():\n  nonlocal k\n  k = 2\n return f\nf = g()",
            "assigns to the variable k",
        ),
        ("K = object()\ndef f(): return K", "K in `f` is an object of type object"),
        ("K = np.array([None])\ndef f(): return K", "array of Python objects"),
        ("K = iter([1])\ndef f(): return K", "list_iterator"),
        ("class M(type): pass\nclass K(metaclass=M): pass\ndef f(): return K", "metaclass"),
    ],
)
def test_functions_without_a_digest(source, reason):
    with pytest.raises(UnknownIdentityError) as error:
        digest(function_of(source, np=np, m=math), none)
    assert reason in str(error.value)
