# SPDX-License-Identifier: Apache-2.0
"""Jitted functions that call themselves."""

from __future__ import annotations

import traceback
from functools import partial

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.programs.jit import jit


@jit
def endless(n):
    return lax.mul(n, endless(lax.sub(n, 1.0)))


@jit
def ended_by_a_value(n):
    return lax.cond(
        lax.gt(n, 0.0), lambda: lax.mul(n, ended_by_a_value(lax.sub(n, 1.0))), lambda: 1.0
    )


@pytest.mark.parametrize("function", [endless, ended_by_a_value])
def test_infinite_recursion_raises_at_once(function):
    for _ in range(2):  # nothing is left of the first call
        with pytest.raises(RecursionError) as caught:
            function(3.0)
        text = "".join(traceback.format_exception(caught.value))
        line = function.__wrapped__.__code__.co_firstlineno
        assert f"Recursively calling {function.__name__} at {__file__}:{line}" in text
        assert f"jit({function.__name__}, static_argnums=...)" in text
        assert len(text.splitlines()) < 40


def test_finite_recursion_is_traced():
    @partial(jit, static_argnums=0)
    def factorial(n, x):
        return x if n == 0 else lax.mul(float(n), factorial(n - 1, x))

    @jit
    def total(x):
        half = x.shape[0] // 2
        return x[0] if half == 0 else lax.add(total(x[:half]), total(x[half:]))

    assert factorial(5, 1.0) == 120.0
    assert total(np.arange(8.0, dtype=np.float32)) == 28.0


def test_a_function_that_failed_is_traced_again():
    failures = [True]

    @jit
    def once(x):
        if failures:
            failures.pop()
            raise KeyError("first")
        return x

    with pytest.raises(KeyError):
        once(1.0)
    assert once(1.0) == 1.0
