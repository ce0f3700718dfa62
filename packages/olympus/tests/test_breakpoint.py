# SPDX-License-Identifier: Apache-2.0
"""`olympus.debug.breakpoint` in transformed and compiled functions."""

from __future__ import annotations

import io

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp


def debugged(fun, *args, commands):
    """Returns the values that the debugger prints, and the function's result."""
    stdout = io.StringIO()
    options = {"stdin": io.StringIO("\n".join([*commands, ""])), "stdout": stdout}
    result = fun(options)(*args)
    olympus.effects_barrier()
    lines = stdout.getvalue().replace("(jdb) ", "").split("\n")
    return [line for line in lines if line and line != "Entering jdb:"], result


def stopping(options):
    def fun(x):
        y = x * 2
        olympus.debug.breakpoint(**options)
        return jnp.sin(y)

    return fun


def test_jit_shows_values_of_the_run():
    values, result = debugged(lambda o: olympus.jit(stopping(o)), 0.5, commands=["p y", "c"])
    assert values == ["Array(1., dtype=float32)"]
    assert np.isclose(result, np.sin(1.0))


def test_vmap_stops_at_each_element():
    values, _ = debugged(
        lambda o: olympus.vmap(stopping(o)), jnp.arange(3.0), commands=["p y", "c"] * 3
    )
    assert values == [f"Array({2 * i}., dtype=float32)" for i in range(3)]


def test_scan_stops_at_each_iteration():
    def looping(options):
        def body(carry, x):
            olympus.debug.breakpoint(ordered=True, **options)
            return carry + x, carry

        return lambda xs: olympus.lax.scan(body, 0.0, xs)

    values, _ = debugged(looping, jnp.arange(3.0), commands=["p carry", "p x", "c"] * 3)
    assert values == [f"Array({n}., dtype=float32)" for n in (0, 0, 0, 1, 1, 2)]


def test_grad_shows_primal_values():
    values, result = debugged(lambda o: olympus.grad(stopping(o)), 0.5, commands=["p y", "c"])
    assert values[0].startswith("Array(1.")
    assert np.isclose(result, 2 * np.cos(1.0))


def test_token_keeps_its_derivative():
    def through(options):
        return olympus.grad(lambda x: olympus.debug.breakpoint(token=x * x, **options))

    _, result = debugged(through, 3.0, commands=["c"])
    assert float(result) == 6.0


def test_unused_token_opens_no_debugger():
    options = {"stdin": io.StringIO(""), "stdout": io.StringIO()}

    @olympus.jit
    def fun(x):
        olympus.debug.breakpoint(token=x, **options)
        return x

    assert float(fun(2.0)) == 2.0
    olympus.effects_barrier()
    assert options["stdout"].getvalue() == ""


def test_keys_are_printable():
    def with_key(options):
        def fun(seed):
            key = olympus.random.key(seed)
            olympus.debug.breakpoint(**options)
            return olympus.random.uniform(key)

        return olympus.jit(fun)

    values, _ = debugged(with_key, 3, commands=["p key", "c"])
    assert values == ["Array([0, 3], dtype=uint32)"]  # the data of a key


def test_quitting_ends_the_program():
    with pytest.raises(SystemExit):
        debugged(lambda o: olympus.jit(stopping(o)), 0.5, commands=["q"])
