# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import weakref

from olympus_ir.trees.function_caches import FunctionCache, clear_function_caches


def make():
    def f():
        return 1

    return f


def test_entries_are_kept_for_each_function():
    cache, f, g = FunctionCache(), make(), make()
    cache.of(f)["a"] = 1
    assert cache.of(f) == {"a": 1}
    assert cache.of(g) == {}


def test_entries_are_dropped_with_the_function():
    cache, f = FunctionCache(), make()
    cache.of(f)["a"] = 1
    reference = weakref.ref(f)
    del f
    gc.collect()
    assert reference() is None
    assert not cache._entries


def test_values_without_weak_references_are_not_kept():
    cache = FunctionCache()
    cache.of(3)["a"] = 1
    assert cache.of(3) == {}


def test_derived_functions_are_cached_weakly():
    cache, f = FunctionCache(), make()

    def double(get):
        return lambda: 2 * get()()

    derived = cache.derive(f, double)
    assert derived is cache.derive(f, double)
    assert derived() == 2
    reference = weakref.ref(f)
    del f, derived
    gc.collect()
    assert reference() is None


class Owner:
    def method(self):
        return "result"

    def other(self):
        return "other"


def test_methods_are_cached_per_object():
    cache, owner = FunctionCache(), Owner()
    cache.of(owner.method)["a"] = 1
    assert cache.of(owner.method) == {"a": 1}
    assert cache.of(owner.other) == {}
    assert cache.of(Owner().method) == {}
    derived = cache.derive(owner.method, lambda get: lambda: get()())
    gc.collect()
    assert derived() == "result"
    reference = weakref.ref(owner)
    del owner
    gc.collect()
    assert reference() is None
    assert not cache._entries


def test_clearing_drops_all_entries():
    cache, f = FunctionCache(), make()
    cache.of(f)["a"] = 1
    clear_function_caches()
    assert cache.of(f) == {}
