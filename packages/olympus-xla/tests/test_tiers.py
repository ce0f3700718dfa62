# SPDX-License-Identifier: Apache-2.0
"""Tiers of compiled functions: the reference first, the executable once it is compiled."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.settings import config_flags
from olympus_xla.arrays import transfer_guards
from olympus_xla.arrays.layouts import layouts_in_use
from olympus_xla.arrays.transfer import device_put
from olympus_xla.calls.jit import jit
from olympus_xla.calls.on_reference import tiers


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """Programs do not compile by themselves while a test looks at them."""
    monkeypatch.setattr(tiers, "_PATIENCE", 3600.0)
    # Other tests of the process have set guards and layouts, with which programs are compiled.
    monkeypatch.setattr(transfer_guards, "_in_use", False)
    monkeypatch.setattr(layouts_in_use, "in_use", False)


def network(x, w):
    for _ in range(3):
        x = lax.tanh(lax.dot(x, w))
    return x


X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
W = np.linspace(-0.5, 0.5, 16, dtype=np.float32).reshape(4, 4)


def wanted(x, w):
    for _ in range(3):
        x = np.tanh(x @ w)
    return x


def test_first_call_on_reference():
    f = jit(lambda x, w: network(x, w), tiers=True)
    assert f.tier == "reference"
    first = f(X, W)
    assert f.tier == "reference"
    f.wait()
    assert f.tier == "compiled"
    second = f(X, W)
    np.testing.assert_allclose(first, wanted(X, W), rtol=1e-5)
    np.testing.assert_allclose(second, first, rtol=1e-5)
    assert (first.dtype, first.weak_type, first.sharding) == (
        second.dtype,
        second.weak_type,
        second.sharding,
    )
    assert first.committed == second.committed


def test_weak_types_equal_those_of_the_executable():
    f = jit(lambda x: (x * 2, lax.add(x, 1.0)), tiers=True)
    first = f(3.0)
    f.wait()
    second = f(3.0)
    assert [each.weak_type for each in first] == [each.weak_type for each in second]
    assert [each.dtype for each in first] == [each.dtype for each in second]


def test_functions_without_tiers_are_compiled():
    f = jit(lambda x: lax.sin(x))
    assert f.tier == "compiled"
    f(X)
    assert f.tier == "compiled"
    f.wait()


def test_flag_turns_tiers_on():
    config_flags.tiers.update(True)
    try:
        f, g = jit(lambda x: lax.sin(x)), jit(lambda x: lax.cos(x), tiers=False)
        np.testing.assert_allclose(f(X), np.sin(X), rtol=1e-5)
        assert f.tier == "reference"
        g(X)
        assert g.tier == "compiled"
    finally:
        config_flags.tiers.update(False)


def test_second_call_starts_the_compilation():
    f = jit(lambda x: lax.exp(x), tiers=True)
    f(X)
    f(X)
    known = tiers._of_functions.of(f.__wrapped__)[tiers._ALL]
    assert known[-1].done.wait(60)
    assert f.tier == "compiled"


def test_every_signature_has_its_tier():
    f = jit(lambda x, n: lax.mul(x, np.float32(n)), static_argnums=1, tiers=True)
    np.testing.assert_array_equal(f(X, 2), X * 2)
    f.wait()
    f(X, 2)
    assert f.tier == "compiled"
    np.testing.assert_array_equal(f(X, 3), X * 3)
    assert f.tier == "reference"
    np.testing.assert_array_equal(f(X[0], 3), X[0] * 3)
    f.wait()
    assert f.tier == "compiled"


def test_effects_happen_once_and_in_order():
    seen = []

    def f(x):
        lax.debug_callback(lambda v: seen.append(("first", float(v))), x, ordered=True)
        y = lax.mul(x, np.float32(2))
        lax.debug_callback(lambda v: seen.append(("second", float(v))), y, ordered=True)
        return y

    f = jit(f, tiers=True)
    for value in (1.0, 2.0):
        f(np.float32(value))
    f.wait()
    f(np.float32(3.0)).block_until_ready()
    from olympus_xla.calls import effect_tokens

    effect_tokens.barrier()
    assert seen == [
        (name, k * v) for v in (1.0, 2.0, 3.0) for name, k in (("first", 1), ("second", 2))
    ]


def test_exceptions_of_callbacks_surface_in_the_call():
    class StrangeError(Exception):
        pass

    def fail(_):
        raise StrangeError("from the callback")

    f = jit(lambda x: lax.pure_callback(fail, x, x), tiers=True)
    with pytest.raises(StrangeError, match="from the callback"):
        f(X)


def test_donated_operand_is_deleted():
    f = jit(lambda x: lax.add(x, x), donate_argnums=0, tiers=True)
    x = device_put(X)
    np.testing.assert_array_equal(f(x), X + X)
    assert x.is_deleted()
    f.wait()
    x = device_put(X)
    np.testing.assert_array_equal(f(x), X + X)
    assert x.is_deleted()


def test_failed_compilation():
    f = jit(lambda x: lax.sin(x), compiler_options={"no_such_option": True}, tiers=True)
    np.testing.assert_allclose(f(X), np.sin(X), rtol=1e-5)
    f.wait()
    with pytest.raises(Exception, match="no_such_option"):
        f(X)


def test_unsupported_programs_are_compiled_at_once(monkeypatch):
    monkeypatch.setattr(tiers, "_MOST_ELEMENTS", 4)
    f = jit(lambda x: lax.sin(x), tiers=True)
    np.testing.assert_allclose(f(X), np.sin(X), rtol=1e-5)
    assert f.tier == "compiled"


def test_compiled_calls_use_the_fast_path(monkeypatch):
    f = jit(lambda x: lax.sin(x), tiers=True)
    f(X)
    f.wait()
    f(X)

    def fail(*_):
        raise AssertionError("a compiled call entered Python")

    monkeypatch.setattr(tiers, "evaluate", fail)
    np.testing.assert_allclose(f(X), np.sin(X), rtol=1e-5)


def test_loops_and_branches():
    def f(x, n):
        y = lax.fori_loop(0, n, lambda i, y: lax.add(y, lax.sin(y)), x)
        return lax.cond(lax.gt(n, 2), lambda: y, lambda: lax.neg(y))

    f = jit(f, tiers=True)
    first = f(X, 3)
    f.wait()
    np.testing.assert_allclose(f(X, 3), first, rtol=1e-5)


def test_calls_of_several_threads():
    f = jit(lambda x: lax.cos(x), tiers=True)
    results = []
    threads = [threading.Thread(target=lambda: results.append(f(X))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for result in results:
        np.testing.assert_allclose(result, np.cos(X), rtol=1e-5)


def test_process_ends_while_a_compilation_runs():
    program = """
        import numpy as np
        from olympus_ir import lax
        from olympus_xla.calls.jit import jit

        def slow(x):
            for _ in range(400):
                x = lax.sin(lax.add(lax.mul(x, x), lax.cos(x)))
            return x

        f = jit(slow, tiers=True, compile_budget=float("inf"))
        f(np.ones(8, np.float32))
        f(np.ones(8, np.float32))
        print(f.tier)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() in ("reference", "compiled")
