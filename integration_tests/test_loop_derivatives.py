# SPDX-License-Identifier: Apache-2.0
"""Reverse mode of loops with checkpoints, compared with the same steps in a Python loop."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.sharding import AxisType, PartitionSpec

GRAPH = np.random.RandomState(0).rand(6, 6)
MATRIX = np.random.RandomState(1).randn(3, 3) * 0.5
INPUTS = np.random.RandomState(2).randn(17, 3)


@pytest.fixture(autouse=True)
def double_precision():
    with olympus.enable_x64(True):
        yield


def python_loop(condition, body, value):
    while condition(value):
        value = body(value)
    return value


# ---- loops whose number of steps depends on the input ----


def newton(loop, a):
    return loop(lambda x: abs(x * x * x - a) > 1e-12, lambda x: x - (x**3 - a) / (3 * x * x), a)


def adaptive_ode(loop, rate):
    """Heun's method with a step size from the error estimate, for x' = -rate x^2."""

    def step(state):
        t, x, h = state
        h = jnp.minimum(h, 1.0 - t)
        slope = -rate * x * x
        euler = x + h * slope
        heun = x + h * (slope - rate * euler * euler) / 2
        error = jnp.abs(heun - euler)
        ok = error < 1e-3
        scale = jnp.clip(0.9 * jnp.sqrt(1e-3 / (error + 1e-12)), 0.2, 2.0)
        return jnp.where(ok, t + h, t), jnp.where(ok, heun, x), h * scale

    return loop(lambda s: s[0] < 1.0 - 1e-9, step, (0.0 * rate, 1.0 + 0 * rate, 0.1 + 0 * rate))[1]


def collatz(loop, x):
    """Scales by a factor that depends on the parity of a Collatz sequence."""

    def step(state):
        n, x = state
        even = n % 2 == 0
        return jnp.where(even, n // 2, 3 * n + 1), jnp.where(even, x * 0.9, jnp.sin(x) + x)

    return loop(lambda s: s[0] != 1, step, (jnp.asarray(27), x))[1]


def beam_search(loop, w):
    """Keeps the two best of four continuations until the best score passes a limit."""

    def step(state):
        scores, n = state
        options = (scores[:, None] + jnp.tanh(w * jnp.array([0.5, 0.8]) * (1 + n))).reshape(-1)
        best, _ = lax.top_k(options, 2)
        return best, n + 1

    return loop(lambda s: s[0][0] < 6.0, step, (jnp.zeros(2) * w, 0))[0].sum()


def rejection(loop, mean):
    """Draws until a sample is accepted."""

    def step(state):
        key, _ = state
        key, part = olympus.random.split(key)
        return key, mean + olympus.random.normal(part)

    return loop(lambda s: s[1] < 1.5, step, (olympus.random.key(0), 0.0 * mean))[1] ** 2


def pagerank(loop, damping):
    links = GRAPH / GRAPH.sum(0)

    def step(state):
        rank, _ = state
        after = damping * (links @ rank) + (1 - damping) / 6
        return after, jnp.abs(after - rank).max()

    start = jnp.arange(6.0) / 15 + 0 * damping
    return loop(lambda s: s[1] > 1e-10, step, (start, 1.0 + 0 * damping))[0][0]


def geometric_mean(loop, x):
    def step(state):
        a, b = state
        return (a + b) / 2, jnp.sqrt(a * b)

    return loop(lambda s: jnp.abs(s[0] - s[1]) > 1e-12, step, (x, 2.0 + 0 * x))[0]


def power_iteration(loop, t):
    matrix = jnp.array([[2.0, 1.0], [1.0, 3.0]]) + t * jnp.array([[1.0, 0.5], [0.5, 0.0]])

    def step(state):
        v, _ = state
        after = matrix @ v
        after = after / jnp.sqrt(after @ after)
        return after, jnp.abs(after - v).max()

    v, _ = loop(lambda s: s[1] > 1e-10, step, (jnp.array([1.0, 0.0]) + 0 * t, 1.0 + 0 * t))
    return v @ matrix @ v


def gradient_descent(loop, a):
    def slope(x):
        return 4 * x**3 - 2 * a * x

    return loop(lambda x: jnp.abs(slope(x)) > 1e-9, lambda x: x - 0.05 * slope(x), 1.0 + 0 * a)


def escape(loop, c):
    """Iterates z^2 + c with complex z until it leaves a circle."""
    z = loop(lambda z: jnp.abs(z) < 4.0, lambda z: z * z + c * (1 + 0.5j), 0j + 0 * c)
    return jnp.abs(z)


LOOPS = [
    (newton, 2.0),
    (adaptive_ode, 1.7),
    (collatz, 0.4),
    (beam_search, 0.7),
    (rejection, 0.3),
    (pagerank, 0.85),
    (geometric_mean, 5.0),
    (power_iteration, 0.3),
    (gradient_descent, 1.3),
    (escape, 0.4),
]
IDS = [fun.__name__ for fun, _ in LOOPS]


def with_checkpoints(number):
    def loop(condition, body, value):
        return lax.while_loop(condition, body, value, checkpoints=number)

    return loop


@pytest.mark.parametrize(("fun", "x"), LOOPS, ids=IDS)
def test_equals_the_unrolled_loop(fun, x):
    expected = olympus.value_and_grad(lambda x: fun(python_loop, x))(x)
    found = olympus.jit(olympus.value_and_grad(lambda x: fun(with_checkpoints(4), x)))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("fun", "x"), [LOOPS[1], LOOPS[4]], ids=["adaptive_ode", "rejection"])
def test_batched_gradients_equal_single_ones(fun, x):
    xs = jnp.array([x, 0.9 * x, 1.2 * x])
    slope = olympus.grad(lambda x: fun(with_checkpoints(4), x))
    expected = np.array([olympus.jit(slope)(x) for x in xs])
    np.testing.assert_allclose(olympus.jit(olympus.vmap(slope))(xs), expected, rtol=1e-9)


def test_second_derivatives_do_not_depend_on_checkpoints():
    def compared(loop):
        return lambda x: gradient_descent(loop, x) * x

    forward = olympus.jit(olympus.jacfwd(olympus.grad(compared(with_checkpoints(4)))))
    expected = olympus.jvp(olympus.grad(compared(python_loop)), (1.3,), (1.0,))[1]
    np.testing.assert_allclose(forward(1.3), expected, rtol=1e-6)


def test_second_order_in_reverse_mode():
    def power(x, n):
        state = lax.while_loop(
            lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * x), (0, x), max_steps=8
        )
        return state[1]

    second = olympus.jit(olympus.grad(olympus.grad(power)))
    np.testing.assert_allclose(second(1.3, 4), 20 * 1.3**3, rtol=1e-12)


# ---- options ----


def growing(x, w, **options):
    def step(state):
        return state[0] * w + 0.3 * jnp.sin(state[0]) + 0.5, state[1] + state[0] * w

    return lax.while_loop(lambda state: state[0] < 200.0, step, (x, 0.0 * x), **options)[1]


@pytest.mark.parametrize("options", [{"checkpoints": 1}, {"checkpoints": 3}, {"max_steps": 400}])
def test_gradient_for_each_number_of_checkpoints(options):
    """Up to some hundred iterations, with as few as two slots."""
    expected = [260.43725086, 1012482.0760591]  # of the unrolled loop
    found = olympus.jit(olympus.grad(lambda x, w: growing(x, w, **options), (0, 1)))(1.5, 1.01)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_max_steps_bounds_the_iterations():
    def loop(x):
        return lax.while_loop(lambda x: x < 1e9, lambda x: 2 * x, x, max_steps=5)

    assert olympus.value_and_grad(loop)(3.0) == (96.0, 32.0)


def test_inverse_steps_have_gradients_of_stored_states():
    def loop(x, w, **options):
        def step(state):
            return state[0] * w, state[1] + jnp.tanh(1.0) * state[0]

        return lax.while_loop(lambda s: s[0] < 20.0, step, (x, 0.0 * x), **options)[1]

    def undo(w):
        return lambda s: (s[0] / w, s[1] - jnp.tanh(1.0) * s[0] / w)

    def inverted(x, w):
        return loop(x, w, inverse=undo(w))

    def stored(x, w):
        return loop(x, w, max_steps=100)

    xs = jnp.array([1.5, 3.0, 18.0, 25.0])
    for transform in (olympus.jit, lambda f: olympus.jit(olympus.vmap(f, (0, None)))):
        args = (1.5, 1.1) if transform is olympus.jit else (xs, 1.1)
        found = transform(olympus.grad(inverted, (0, 1)))(*args)
        expected = transform(olympus.grad(stored, (0, 1)))(*args)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)


def test_counting_loop_with_traced_bound():
    def product(x, n, **options):
        return lax.fori_loop(0, n, lambda i, c: jnp.sin(c) * (i + 1.0), x, **options)

    expected = olympus.grad(lambda x: product(x, 10))(0.5)
    found = olympus.jit(olympus.grad(lambda x, n: product(x, n, checkpoints=3)))(0.5, 10)
    np.testing.assert_allclose(found, expected, rtol=1e-12)

    def shifted(x, n, **options):
        return lax.fori_loop(0, n, lambda i, c: c * 2.0 + i, x, **options) ** 2

    undo = {"inverse": lambda i, c: (c - i) / 2.0}
    found = olympus.jit(olympus.grad(lambda x, n: shifted(x, n, **undo)))(0.5, 10)
    np.testing.assert_allclose(found, olympus.grad(lambda x: shifted(x, 10))(0.5), rtol=1e-12)


def test_without_options_the_error_names_them():
    with pytest.raises(ValueError, match="checkpoints=32"):
        olympus.grad(lambda x: lax.while_loop(lambda x: x < 3, lambda x: x * 2, x))(1.0)
    program = olympus.make_jaxpr(lambda x: lax.while_loop(lambda x: x < 3, lambda x: x * 2, x))(1.0)
    assert "checkpoints" not in str(program)


@pytest.mark.parametrize("checkpoints", [0, -1, True, 1.5, "sqrt"])
def test_invalid_options_raise(checkpoints):
    with pytest.raises(ValueError, match="positive integer"):
        lax.while_loop(lambda x: x < 3, lambda x: x * 2, 1.0, checkpoints=checkpoints)


# ---- scan ----


def recurrent(matrix, carry, xs, *, reverse=False, **options):
    def step(c, x):
        c = jnp.tanh(matrix @ c + x)
        return c, (c**2, x.sum())

    c, (squares, sums) = lax.scan(step, carry, xs, reverse=reverse, **options)
    weights = jnp.arange(17.0)[:, None]
    return (c * jnp.arange(3)).sum() + (squares * weights).sum() + (sums**2).sum()


@pytest.mark.parametrize(
    ("checkpoints", "reverse"),
    [("sqrt", False), ("sqrt", True), ("binomial", False), ("offload", True), (5, True)],
)
def test_checkpoints_keep_gradients_of_scans(checkpoints, reverse):
    args = (MATRIX, jnp.arange(3.0), INPUTS)
    expected = olympus.grad(lambda *a: recurrent(*a, reverse=reverse), (0, 1, 2))(*args)
    with_checkpoints = olympus.grad(
        lambda *a: recurrent(*a, reverse=reverse, checkpoints=checkpoints), (0, 1, 2)
    )
    for one, other in zip(olympus.jit(with_checkpoints)(*args), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_scan_with_unknown_option_raises():
    with pytest.raises(ValueError, match="'sqrt', 'binomial', 'offload'"):
        lax.scan(lambda c, _: (c, None), 0.0, None, length=3, checkpoints="all")


def test_memory_of_long_loops():
    """For 10,000 steps: the square root of their number, or a constant, not their number."""
    count, width = 10_000, 16

    def long_scan(c, **options):
        return lax.scan(lambda c, _: (jnp.sin(c), None), c, None, length=count, **options)[0].sum()

    def long_while(c, **options):
        state = lax.while_loop(
            lambda s: s[0] < count, lambda s: (s[0] + 1, jnp.sin(s[1])), (0, c), **options
        )
        return state[1].sum()

    def peak(fun):
        compiled = olympus.jit(olympus.grad(fun)).lower(jnp.ones(width)).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    state = 8 * width
    assert peak(long_scan) >= count * state
    assert peak(lambda c: long_scan(c, checkpoints="sqrt")) < 4 * 100 * state
    assert peak(lambda c: long_scan(c, checkpoints="binomial")) < 100 * state
    assert peak(lambda c: long_while(c, checkpoints=32)) < 4 * 32 * state


# ---- other transformations ----


def test_devices_that_run_different_numbers_of_steps():
    mesh = olympus.make_mesh((4,), ("i",), axis_types=(AxisType.Auto,))
    split, whole = PartitionSpec("i"), PartitionSpec()

    def one(x, w, **options):
        def step(state):
            x = state[0] * w + 0.3 * jnp.sin(state[0]) + 0.5
            return x, state[1] + (x * w).sum()

        return lax.while_loop(lambda s: s[0].sum() < 20.0, step, (x, 0.0 * x[0]), **options)[1]

    def on_devices(xs, w):
        parts = olympus.shard_map(
            lambda x, w: one(x, w, checkpoints=4)[None],
            mesh=mesh,
            in_specs=(split, whole),
            out_specs=split,
        )
        return parts(xs, w).sum()

    def in_turn(xs, w):
        return sum(one(xs[2 * i : 2 * i + 2], w, max_steps=50) for i in range(4))

    xs = jnp.arange(8.0) / 3
    found = olympus.jit(olympus.grad(on_devices, (0, 1)))(xs, 1.01)
    expected = olympus.jit(olympus.grad(in_turn, (0, 1)))(xs, 1.01)
    for one_part, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one_part, other, rtol=1e-9)


def test_exported_with_its_derivative():
    fun = olympus.jit(lambda x: growing(x, 1.01, checkpoints=4))
    exported = olympus.export.export(fun)(jnp.asarray(1.5)).serialize(vjp_order=1)
    loaded = olympus.export.deserialize(exported)
    np.testing.assert_allclose(olympus.grad(loaded.call)(1.5), olympus.grad(fun)(1.5), rtol=1e-12)


def test_plain_python_loops_have_gradients():
    @olympus.jit(control_flow=True)
    def square_root(a):
        x = a
        while abs(x * x - a) > 1e-12:
            x = 0.5 * (x + a / x)
        return x

    np.testing.assert_allclose(olympus.grad(square_root)(2.0), 0.5 / np.sqrt(2), rtol=1e-12)


def test_python_loops_keep_options():
    def stopped(x, **options):
        return lax.while_loop(lambda c: c > 0.3, lambda c: 0.9 * jnp.sin(c), x, **options)

    expected = olympus.grad(lambda x: stopped(x, checkpoints=4))(0.9)
    with olympus.disable_jit():
        for options in ({"checkpoints": 4}, {"max_steps": 50}):
            found = olympus.grad(lambda x, options=options: stopped(x, **options))(0.9)
            np.testing.assert_allclose(found, expected, rtol=1e-6)
