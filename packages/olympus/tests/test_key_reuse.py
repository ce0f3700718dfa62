# SPDX-License-Identifier: Apache-2.0
"""The flag ``debug_key_reuse``: random keys that are used twice raise errors."""

import inspect
import re
import subprocess
import sys

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import jit, lax, random, vmap
from olympus.errors import KeyReuseError


@pytest.fixture(autouse=True)
def following():
    with olympus.debug_key_reuse(True):
        yield


def key():
    return random.key(0)


def twice(k):
    return random.normal(k) + random.uniform(k)


def split_and_used(k):
    return random.split(k), random.normal(k)


def same_part(k):
    parts = random.split(k)
    return random.normal(parts[0]) + random.normal(parts[0])


def part_and_whole(k):
    parts = random.split(k)
    return vmap(random.normal)(parts), random.normal(parts[1])


def constant_of_a_loop(k):
    return lax.scan(lambda c, _: (c, random.normal(k)), 0, None, length=2)


def kept_in_a_carry(k):
    return lax.scan(lambda c, _: (c, random.normal(c)), k, None, length=2)


def kept_in_a_while_loop(k):
    return lax.while_loop(lambda c: c[1] < 1, lambda c: (c[0], 2 + random.uniform(c[0])), (k, 0.0))


def written_and_used(k):
    return random.normal(k[None].at[0].set(k)[0]) + random.normal(k)


def in_a_branch_and_after_it(k):
    return lax.cond(True, lambda: random.normal(k), lambda: 0.0), random.normal(k)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        twice,
        split_and_used,
        same_part,
        part_and_whole,
        constant_of_a_loop,
        kept_in_a_carry,
        kept_in_a_while_loop,
        in_a_branch_and_after_it,
        written_and_used,
    ],
)
def test_keys_used_twice(function, compiled):
    with pytest.raises(KeyReuseError, match="consumed"):
        (jit(function) if compiled else function)(key())


def repeated_and_used(k):
    return vmap(random.normal)(jnp.broadcast_to(k, (3,))), random.normal(k)


def joined_and_used(k):
    return jnp.concatenate([k[None], k[None]]).shape, random.normal(k)


def chosen_and_used(k):
    return random.normal(lax.select(True, k, random.clone(k))), random.normal(k)


def taken_and_used(k):
    return vmap(random.normal)(k[None][jnp.array([0, 0])]), random.normal(k)


def constrained_and_used(k):
    sharding = olympus.sharding.SingleDeviceSharding(olympus.devices()[0])
    return random.normal(lax.with_sharding_constraint(k, sharding)), random.normal(k)


def used_by_gamma(k):
    return random.gamma(k, 2.0) + random.normal(k)


def constant_of_one_step(k):
    return lax.scan(lambda c, _: (c, random.normal(k)), 0, None, length=1)[1]


@pytest.mark.parametrize(
    "function",
    [
        repeated_and_used,
        joined_and_used,
        chosen_and_used,
        taken_and_used,
        constrained_and_used,
        used_by_gamma,
        constant_of_one_step,
    ],
)
def test_keys_moved_by_array_operations(function):
    with pytest.raises(KeyReuseError, match="consumed"):
        jit(function)(key())


@pytest.mark.parametrize(
    "part, message", [("body", "while_loop body"), ("cond", "while_loop cond")]
)
def test_parts_of_loops_that_use_constant_key(part, message):
    def loop(k):
        def condition(x):
            return x < (random.normal(k) if part == "cond" else 1.0)

        def body(x):
            return x + (random.normal(k) if part == "body" else 1.0)

        return lax.while_loop(condition, body, 0.0)

    with pytest.raises(KeyReuseError, match=f"{message} function leads to key reuse"):
        jit(loop)(key())


def parts_used_once(k):
    parts = random.split(k)
    return random.normal(parts[0]) + random.normal(parts[1])


def derived_keys(k):
    first, second = random.fold_in(k, 1), random.fold_in(k, 2)
    return random.normal(first) + random.normal(second)


def one_of_two_branches(k):
    return lax.cond(True, lambda: random.normal(k), lambda: random.uniform(k))


def cloned(k):
    return random.normal(random.clone(k)) + random.normal(k)


def renewed_in_a_loop(k):
    def step(k, _):
        k, part = random.split(k)
        return k, random.normal(part)

    return lax.scan(step, k, None, length=3)[1].sum()


def overwritten(k):
    keys, (first, second) = k[None], random.split(random.clone(k))
    draws = random.normal(keys[0])
    keys = keys.at[0].set(first)
    draws += random.normal(keys[0])
    keys = lax.dynamic_update_slice(keys, second[None], (0,))
    return draws + random.normal(keys[0])


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        parts_used_once,
        derived_keys,
        one_of_two_branches,
        cloned,
        renewed_in_a_loop,
        overwritten,
    ],
)
def test_keys_used_once(function, compiled):
    result = (jit(function) if compiled else function)(key())
    with olympus.debug_key_reuse(False):
        np.testing.assert_allclose(result, function(key()), rtol=1e-6)


def test_keys_used_by_two_functions():
    k = key()
    jit(random.normal)(k)
    with pytest.raises(KeyReuseError, match="passed to jit-compiled function at index 0"):
        random.bits(k)


def test_keys_are_not_tracked_without_the_flag():
    with olympus.debug_key_reuse(False):
        k = key()
        assert random.normal(k) == random.normal(k)


def test_recomputation_does_not_count_as_a_use():
    def once(x, key):
        return x * random.normal(key)

    def twice(x, key):
        return once(x, key) + random.normal(key)

    for make in (olympus.checkpoint, lambda fun: olympus.jit(olympus.checkpoint(fun))):
        gradient = olympus.grad(make(once))(1.0, random.key(0))
        assert gradient == random.normal(random.key(0))
        with pytest.raises(KeyReuseError):
            olympus.grad(make(twice))(1.0, random.key(0))


def lines_of_reuse(message):
    """Returns the lines of this file at which a key was used again, and at first."""
    found = re.findall(r"test_key_reuse\.py:(\d+):", message)
    assert len(found) == 2, message
    return [int(line) for line in found]


@pytest.mark.parametrize("compiled", [False, True])
def test_both_uses_are_shown(compiled):
    @jit
    def helper(k):
        return random.uniform(k)

    def draw(k):
        first = helper(k)
        second = helper(k)
        return first + second

    helper(key())  # keeps the program, with the line of another call
    start = inspect.getsourcelines(draw)[1]
    with pytest.raises(KeyReuseError) as caught:
        (jit(draw) if compiled else draw)(key())
    assert lines_of_reuse(str(caught.value)) == [start + 2, start + 1]
    assert "random.split(key)" in str(caught.value)


def test_uses_in_and_after_loop_are_shown():
    def draw(k):
        parts = random.split(k)
        sums, _ = lax.scan(lambda c, part: (c + random.normal(part), None), 0.0, parts)
        return sums + random.normal(parts[0])

    start = inspect.getsourcelines(draw)[1]
    with pytest.raises(KeyReuseError) as caught:
        jit(draw)(key())
    assert lines_of_reuse(str(caught.value)) == [start + 3, start + 2]


def test_line_that_runs_twice_is_shown_once():
    with pytest.raises(KeyReuseError, match="the same line, in a loop or a function called twice"):
        k = key()
        for _ in range(2):
            random.normal(k)


def test_flag_set_before_first_key_tracks_keys():
    program = """
import olympus
with olympus.debug_key_reuse(True):
    key = olympus.random.key(0)
    olympus.random.normal(key)
    try:
        olympus.random.normal(key)
    except olympus.errors.KeyReuseError:
        print("refused")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "refused\n", done.stderr


def test_keys_that_functions_close_over() -> None:
    with olympus.debug_key_reuse(True):
        key = olympus.random.key(0)
        draw = olympus.jit(lambda: olympus.random.uniform(key))
        draw()
        with pytest.raises(KeyReuseError, match="passed to jit-compiled function at index 0"):
            draw()


@pytest.mark.parametrize("mean", [2.0, 20.0])
def test_samplers_that_choose_method_use_key_once(mean):
    assert random.poisson(key(), mean, (3,)).shape == (3,)
    with pytest.raises(KeyReuseError):
        jit(lambda k: (random.poisson(k, mean), random.normal(k)))(key())
