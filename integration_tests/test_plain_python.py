# SPDX-License-Identifier: Apache-2.0
"""Python's control flow on traced values: `jit(..., control_flow=True)`."""

from __future__ import annotations

import functools
import traceback

import pytest

import olympus
import olympus.numpy as jnp

compiled = functools.partial(olympus.jit, control_flow=True)
FACTOR = 3.0


def name(case):
    return case.__name__ if callable(case) else None


@pytest.fixture(autouse=True)
def double_precision():
    with olympus.enable_x64(True):
        yield


def test_gradients_of_conditionals():
    def piecewise(x):
        if x > 2:
            return x**3
        return x**2

    assert olympus.grad(compiled(piecewise))(3.0) == 27.0
    assert olympus.grad(compiled(piecewise))(1.0) == 2.0


def test_known_conditions_are_evaluated_by_python():
    traces = []

    @compiled
    def fun(x, flag):
        if flag is None:
            traces.append("none")
            return x
        for word in ("a", "b"):
            if word == "b":
                traces.append(word)
        return x + flag

    assert fun(1, None) == 1
    assert fun(1, 2) == 3
    assert traces == ["none", "b"]


def test_only_the_taken_branch_runs():
    seen = []

    @compiled
    def fun(x):
        if x > 0:
            olympus.debug.callback(lambda: seen.append("positive"))
        else:
            olympus.debug.callback(lambda: seen.append("negative"))
        return x

    fun(1.0), fun(-1.0)
    olympus.effects_barrier()
    assert seen == ["positive", "negative"]


def test_methods_lambdas_and_callable_objects():
    class Model:
        __factor = FACTOR

        def __init__(self, bias):
            self.bias = bias

        def __call__(self, x):
            if x > 0:
                return self.scaled(x)
            return self.bias

        def scaled(self, x):
            return x * self.__factor if x < 10 else x

    model = Model(0.5)
    for fun in (model, model.__call__, functools.partial(Model.__call__, model)):
        assert [float(compiled(fun)(x)) for x in (-1.0, 2.0, 20.0)] == [0.5, 6.0, 20.0]
    choose = compiled(lambda x, y=1.0: x if x > y else -y)
    assert (choose(2.0), choose(0.0), choose(2.0, 3.0)) == (2.0, -1.0, -3.0)

    @compiled
    def decorated(x, *, low=0.0):
        return low if x < low else x

    assert decorated(-1.0) == 0.0 and decorated(-1.0, low=-5.0) == -1.0


def test_closures_globals_and_nonlocals_keep_their_binding():
    offset = 1.0

    def fun(x):
        return x + offset if x > 0 else x * FACTOR

    first = compiled(fun)
    assert first(1.0) == 2.0 and first(-1.0) == -3.0
    offset = 5.0
    assert compiled(lambda x: fun(x))(1.0) == 6.0
    calls = 0

    @compiled
    def counting(x):
        nonlocal calls
        calls += 1
        return -x if x < 0 else x

    assert counting(-2.0) == 2.0 and calls == 1


def test_containers_and_dictionaries_are_carried():
    @compiled
    def fun(x, n):
        state = {"x": x, "trail": jnp.zeros(4)}
        for i in range(n):
            state["trail"] = state["trail"].at[i].set(state["x"])
            state["x"] = state["x"] * 2
            if state["x"] > 5:
                break
        return state

    got = fun(1.0, 4)
    assert got["x"] == 8.0 and got["trail"].tolist() == [1.0, 2.0, 4.0, 0.0]


def test_item_assignment_does_not_change_arguments():
    @compiled
    def fun(x):
        x[0] = 7
        x[1:] += 1
        return x

    given = jnp.array([1, 2, 3])
    assert fun(given).tolist() == [7, 3, 4]
    assert given.tolist() == [1, 2, 3]


def test_short_circuits_protect_indices():
    @compiled
    def first_negative(x):
        i = 0
        while i < x.size and x[i] >= 0:
            i += 1
        return i

    assert first_negative(jnp.array([1, 2, -1])) == 2
    assert first_negative(jnp.array([1, 2, 1])) == 3


# ---- errors ----


def undefined_on_one_side(x):
    if x > 0:
        y = 1
    return y


def nothing_on_one_side(x):
    if x > 0:
        return x


def words(x):
    if x > 0:
        word = "a"
    else:
        word = "b"
    return x, word


def growing(x):
    y = jnp.zeros(1)
    while x < 10:
        y = jnp.concatenate([y, y])
        x += 1
    return y


def after_the_loop(x):
    while x < 10:
        last = x
        x += 1
    return last


def raising(x):
    if x > 0:
        raise ValueError("positive")
    return x


@pytest.mark.parametrize(
    "fun, error, words",
    [
        (undefined_on_one_side, UnboundLocalError, "`y` has no value: only one side"),
        (nothing_on_one_side, TypeError, "result of the function has two structures"),
        (
            words,
            TypeError,
            "`word` has two types .* 'a' where it is true and 'b'",
        ),
        (growing, TypeError, r"`y` changes its type .*float64\[1\] before .*float64\[2\] after"),
        (after_the_loop, UnboundLocalError, "`last` has no value: only the loop on line"),
        (raising, ValueError, "positive"),
    ],
    ids=name,
)
def test_errors_point_to_the_users_lines(fun, error, words):
    with pytest.raises(error, match=words) as caught:
        compiled(fun)(1.0)
    frames = traceback.extract_tb(caught.tb)
    assert frames[-1].filename == __file__
    start = fun.__code__.co_firstlineno
    assert start < frames[-1].lineno <= start + 6


def test_notes_explain_that_both_branches_are_traced():
    with pytest.raises(ValueError) as caught:
        compiled(raising)(-1.0)
    assert "both of its sides are traced" in caught.value.__notes__[0]


def test_functions_without_source_raise():
    namespace = {}
    exec("def fun(x):\n    return x", namespace)
    with pytest.raises(OSError, match="needs the source of fun"):
        compiled(namespace["fun"])
    with pytest.raises(TypeError, match="expects a Python function"):
        compiled(len)
