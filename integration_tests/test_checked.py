# SPDX-License-Identifier: Apache-2.0
"""`olympus.checked`: errors name the user's line and the iterations of its loops."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.errors import JaxRuntimeError, KeyReuseError
from olympus.experimental import checkify

ROWS = np.arange(12.0, dtype=np.float32).reshape(3, 4)
HERE = __file__.rsplit("/", 1)[-1]


def line_of(fun):
    return fun.__code__.co_firstlineno


def in_a_loop(fun, values):
    """Applies a function to one value in each iteration of a loop."""
    return lax.scan(lambda c, x: (c, fun(x)), 0, jnp.asarray(values))[1]


# Operations and a value at which they have no finite result.
NANS = [
    (lambda x: jnp.log(x), -1.0),
    (lambda x: jnp.log(x), 0.0),
    (lambda x: jnp.sqrt(x), -2.0),
    (lambda x: 1.0 / x, 0.0),
    (lambda x: jnp.exp(x), 1000.0),
    (lambda x: jnp.arcsin(x / 2), 4.0),
    (lambda x: jnp.arccosh(x), 0.5),
    (lambda x: jnp.arctanh(x / 2), 3.0),
    (lambda x: jnp.log1p(x), -3.0),
    (lambda x: lax.rsqrt(x), 0.0),
    (lambda x: x**2.5, -1.0),
    (lambda x: x**-3, 0.0),
    (lambda x: jnp.expm1(x), 500.0),
    (lambda x: jnp.sinh(x), 200.0),
    (lambda x: jnp.square(x), 1e30),
    (lambda x: x * 1e38, 1e5),
    (lambda x: x + 3e38, 3e38),
    (lambda x: lax.lgamma(x), 0.0),
    (lambda x: jnp.stack([x, x]) @ jnp.stack([x, x]), 1e30),
    (lambda x: jnp.sum(jnp.full(5, x)), 3e38),
]


@pytest.mark.parametrize("number", range(len(NANS)))
def test_non_finite_values_raise(number):
    fun, bad = NANS[number]
    run = olympus.checked(lambda values: in_a_loop(fun, values), bounds=False, keys=False)
    with pytest.raises(FloatingPointError) as caught:
        run([1.1, 1.2, bad, 1.3])
    assert f"{HERE}:{line_of(fun)}" in str(caught.value)
    assert "iteration 2 of the loop" in str(caught.value)


INDICES = [
    lambda x, i: x[i],
    lambda x, i: x[i, 1:],
    lambda x, i: x[jnp.stack([0, i])],
    lambda x, i: x.at[i].set(1.0),
    lambda x, i: x.at[i].add(1.0),
    lambda x, i: x.at[i].max(1.0),
    lambda x, i: x.at[i, 0].multiply(2.0),
    lambda x, i: lax.dynamic_slice(x, (i, 0), (1, 2)),
    lambda x, i: lax.dynamic_index_in_dim(x, i),
    lambda x, i: lax.dynamic_update_index_in_dim(x, x[0], i, 0),
]


@pytest.mark.parametrize("where", ["plain", "loop", "vmap"])
@pytest.mark.parametrize("number", range(len(INDICES)))
def test_out_of_bounds_indices_raise(number, where):
    fun = INDICES[number]
    if where == "plain":
        run, indices = (lambda i: fun(jnp.asarray(ROWS), i)), jnp.asarray(5)
    elif where == "loop":
        run, indices = (lambda i: in_a_loop(lambda k: fun(jnp.asarray(ROWS), k), i)), [0, 2, 5, 1]
    else:
        run = olympus.vmap(lambda i: fun(jnp.asarray(ROWS), i))
        indices = jnp.array([0, 5, 2])
    checked = olympus.checked(run, nans=False, keys=False)
    with pytest.raises(IndexError) as caught:
        checked(indices)
    assert "index 5 is out of bounds for axis" in str(caught.value)
    assert f"{HERE}:{line_of(fun)}" in str(caught.value)
    assert ("iteration 2 of the loop" in str(caught.value)) == (where == "loop")


DRAWS = [
    lambda key: olympus.random.normal(key),
    lambda key: olympus.random.uniform(key, (3,)),
    lambda key: olympus.random.bernoulli(key).astype(float),
    lambda key: olympus.random.normal(olympus.random.split(key)[0]),
    lambda key: olympus.random.permutation(key, 4).astype(float),
]


@pytest.mark.parametrize("number", range(len(DRAWS)))
@pytest.mark.parametrize("where", ["twice", "mixed", "loop", "branch"])
def test_reused_keys_raise(number, where):
    draw = DRAWS[number]
    uses = {
        "twice": lambda key: draw(key).sum() + draw(key).sum(),
        "mixed": lambda key: olympus.random.exponential(key) + draw(key).sum(),
        "loop": lambda key: lax.fori_loop(0, 3, lambda i, c: c + draw(key).sum(), 0.0),
        "branch": lambda key: (
            lax.cond(True, lambda k: draw(k).sum(), lambda k: 0.0, key) + draw(key).sum()
        ),
    }
    with pytest.raises(KeyReuseError, match=HERE):
        olympus.checked(uses[where], nans=False, bounds=False)(olympus.random.key(0))


def test_checked_function_returns_the_same_result():
    def fun(x, *, scale):
        masked = jnp.where(x > 1, x, -jnp.inf)  # an infinity that no operation has made
        return {"best": masked.max() * scale, "softmax": olympus.nn.softmax(masked)}

    found = olympus.checked(fun)(jnp.asarray(ROWS[0]), scale=2.0)
    expected = fun(jnp.asarray(ROWS[0]), scale=2.0)
    np.testing.assert_allclose(found["best"], expected["best"])
    np.testing.assert_allclose(found["softmax"], expected["softmax"], rtol=1e-6)


def test_errors_of_keys_name_line_of_each_use():
    def first(key):
        return olympus.random.normal(key)

    def twice(key):
        return first(key) + olympus.random.uniform(key)

    def in_scan(key):
        return lax.scan(
            lambda c, _: (c + first(key), None),
            0.0,
            length=2,
        )

    for fun in (twice, olympus.jit(twice), lambda key: olympus.checkpoint(twice)(key)):
        with pytest.raises(KeyReuseError) as caught:
            olympus.checked(fun)(olympus.random.key(0))
        assert f", at {__file__}:{line_of(twice) + 1}:" in str(caught.value)
        assert f"consumed first at {__file__}:{line_of(first) + 1}:" in str(caught.value)
    with pytest.raises(KeyReuseError) as caught:
        olympus.checked(in_scan)(olympus.random.key(0))
    assert f", at {__file__}:{line_of(in_scan) + 1}:" in str(caught.value)
    assert f"; consumed at {__file__}:{line_of(first) + 1}:" in str(caught.value)


@olympus.custom_vjp
def with_backward_rule(x):
    return 2.0 * x


def backward_rule(residual, cotangent):
    return (cotangent * jnp.sqrt(residual),)


with_backward_rule.defvjp(lambda x: (2.0 * x, x), backward_rule)


@olympus.custom_jvp
def with_tangent_rule(x):
    return 2.0 * x


@with_tangent_rule.defjvp
def tangent_rule(primals, tangents):
    return 2.0 * primals[0], tangents[0] * jnp.sqrt(primals[0])


@olympus.custom_batching.custom_vmap
def with_batching_rule(x):
    return 2.0 * x


@with_batching_rule.def_vmap
def batching_rule(axis_size, in_batched, x):
    return jnp.sqrt(x), True


@pytest.mark.parametrize("where", ["alone", "in jit", "in a loop"])
@pytest.mark.parametrize(
    "fun, rule, transform",
    [
        (with_backward_rule, backward_rule, olympus.grad),
        (with_tangent_rule, tangent_rule, olympus.grad),
        (with_batching_rule, batching_rule, lambda f: lambda x: olympus.vmap(f)(x[None])),
    ],
)
def test_operations_of_rules_show_line_of_rule(fun, rule, transform, where):
    wrapped = {
        "alone": fun,
        "in jit": olympus.jit(lambda x: fun(x)),
        "in a loop": lambda x: lax.scan(lambda c, _: (fun(c), None), x, length=2)[0],
    }[where]
    with pytest.raises(FloatingPointError) as caught:
        olympus.checked(transform(wrapped))(jnp.array(-1.0))
    last = max(line for *_, line in rule.__code__.co_lines() if line)
    assert f", at {__file__}:{last}:" in str(caught.value)


def test_line_of_call():
    with pytest.raises(ZeroDivisionError) as caught:
        olympus.checked(lax.rem)(jnp.array(3), jnp.array(0))
    assert "olympus.checked(lax.rem)(jnp.array(3), jnp.array(0))" in str(caught.value)


@pytest.mark.parametrize("kind", ["Auto", "Explicit"])
@pytest.mark.parametrize("fun", [jnp.sqrt, lambda x: jnp.sqrt(x).sum(1), olympus.vmap(jnp.sqrt)])
def test_values_over_several_devices_are_checked(eight_devices, kind, fun):
    types = (getattr(olympus.sharding.AxisType, kind),) * 2
    mesh = olympus.sharding.Mesh(np.reshape(eight_devices[:4], (2, 2)), ("x", "y"), types)
    values = np.arange(16.0, dtype=np.float32).reshape(4, 4)
    placed = olympus.device_put(values, olympus.NamedSharding(mesh, olympus.P("x", "y")))
    run = olympus.checked(fun)
    np.testing.assert_allclose(run(placed), fun(values), rtol=1e-6)
    for row, column in [(0, 0), (1, 3), (2, 1), (3, 3)]:
        with pytest.raises(FloatingPointError) as caught:
            run(placed - 100.0 * (values == values[row, column]))
        assert f"`sqrt` gave nan at element ({row}, {column}) of" in str(caught.value)


# Functions of the shard of one device, whose logarithm is not finite on one device.
SHARDS = [
    lambda x: jnp.log(x),
    lambda x: lax.cond(x[0] < 0, lambda: jnp.log(x), lambda: x),
    lambda x: lax.scan(lambda c, v: (c, jnp.log(v) + c), 0.0, x)[1],
    lambda x: lax.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, jnp.log(c[1])), (0, x))[1],
    lambda x: lax.fori_loop(0, 2, lambda i, c: lax.cond(i > 0, lambda: jnp.log(c), lambda: c), x),
    lambda x: olympus.jit(jnp.log)(x),
    lambda x: x * jnp.log(lax.pmin(x, "x")),
    lambda x: olympus.grad(lambda v: (v * jnp.log(v)).sum())(x),
]


@pytest.mark.parametrize("check_vma", [True, False])
@pytest.mark.parametrize("number", range(len(SHARDS)))
def test_values_of_one_device_are_checked(eight_devices, number, check_vma):
    fun = SHARDS[number]
    mesh = olympus.sharding.Mesh(np.array(eight_devices), ("x",))
    spec = olympus.P("x")
    mapped = olympus.shard_map(fun, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=check_vma)
    values = np.arange(2.0, 10.0, dtype=np.float32)
    np.testing.assert_allclose(olympus.checked(mapped)(values), mapped(values), rtol=1e-6)
    values[5] = -1.0
    with pytest.raises(FloatingPointError, match=rf"`log` gave nan.*{HERE}:{line_of(fun)}"):
        olympus.checked(mapped)(values)


def test_messages_name_the_iterations_of_nested_loops():
    def nested(x):
        def outer(i, c):
            return lax.fori_loop(0, 3, lambda j, d: d / (5.0 * i + j - 11.0), c)

        return lax.fori_loop(0, 4, outer, x)

    with pytest.raises(FloatingPointError) as caught:
        olympus.checked(nested)(1.0)
    message = str(caught.value)
    assert message.startswith("`div` gave -inf; its operands there are -")
    assert message.index("iteration 1 of the loop") < message.index("iteration 2 of the loop")
    with pytest.raises(FloatingPointError, match=r"element \(1, 1\).* are -4.0"):
        olympus.checked(olympus.vmap(lambda x: jnp.log(x).sum()))(jnp.array([[1, 2], [3, -4.0]]))
    with pytest.raises(FloatingPointError, match="`div` gave inf"):
        olympus.checked(olympus.grad(jnp.sqrt))(0.0)
    with pytest.raises(ZeroDivisionError, match="`div` of integers by zero"):
        olympus.checked(lambda a, b: a // b)(3, 0)
    with pytest.raises(TypeError, match="outside of other transformations"):
        olympus.jit(olympus.checked(jnp.sin))(1.0)


def test_nan_of_special_functions_raises():
    with pytest.raises(
        FloatingPointError, match=r"`zeta` gave nan; its operands there are 0\.5, 2"
    ):
        olympus.checked(lambda x: olympus.lax.zeta(x, 2.0))(0.5)
    with pytest.raises(FloatingPointError, match="`polygamma` gave nan"):
        olympus.checked(lambda x: olympus.lax.polygamma(0.5, x))(-2.0)


def test_nan_in_matrix_decompositions_raises():
    matrix = np.array([[2.0, 1.0], [1.0, 3.0]], np.float32)
    run = olympus.checked(lambda a: jnp.linalg.cholesky(a).sum())
    np.testing.assert_allclose(run(matrix), np.linalg.cholesky(matrix).sum(), rtol=1e-6)
    with pytest.raises(FloatingPointError, match="`cholesky` gave nan"):
        run(-matrix)
    solve = olympus.checked(lambda a: jnp.linalg.solve(a, jnp.ones(2))[0])
    np.testing.assert_allclose(solve(matrix), np.linalg.solve(matrix, np.ones(2))[0], rtol=1e-6)
    with pytest.raises(FloatingPointError, match="`custom_linear_solve` gave"):
        solve(np.zeros((2, 2), np.float32))


def test_runtime_errors_flag_raises_in_compiled_functions():
    function = olympus.jit(lambda x: (checkify.check(x > 0, "x is {}", x), x)[1])
    olympus.config.update("olympus_experimental_unsafe_xla_runtime_errors", True)
    try:
        assert function(1.0) == 1
        with pytest.raises(JaxRuntimeError, match="x is -1.0"):
            function(-1.0).block_until_ready()
    finally:
        olympus.config.update("olympus_experimental_unsafe_xla_runtime_errors", False)
    with pytest.raises(ValueError, match="not functionalized"):
        function(1.0)


MASKED = np.array([[True, True, False], [False, False, False]])

# Functions whose result has a NaN that infinities of operands or constants make.
NANS_OF_INFINITIES = [
    (lambda m: jnp.where(m, 1.0, -jnp.inf) - jnp.where(m, 1.0, -jnp.inf).max(1), MASKED[:, :2]),
    (lambda m: olympus.nn.softmax(jnp.where(m, 1.0, -jnp.inf)), MASKED),
    (lambda m: lax.scan(lambda c, v: (c, c - jnp.where(v, 1, jnp.inf)), jnp.inf, m[0])[1], MASKED),
]


@pytest.mark.parametrize("number", range(len(NANS_OF_INFINITIES)))
def test_nans_of_infinities_raise_if_the_result_has_nans(number):
    fun, mask = NANS_OF_INFINITIES[number]
    run = olympus.checked(fun)
    for _ in range(2):
        with pytest.raises(
            FloatingPointError, match="`sub` gave nan.*operands there are -?inf, -?inf"
        ):
            run(mask)


@pytest.mark.parametrize(
    ("fun", "expected"),
    [
        (lambda x: jnp.logaddexp(x, x), -np.inf),  # replaces the NaN that it makes
        (lambda x: jnp.nan_to_num(x - x), 0.0),
        (lambda x: jnp.sum(olympus.nn.softmax(jnp.append(x, 0.0))), 1.0),
    ],
)
def test_infinities_that_the_function_expects_do_not_raise(fun, expected):
    run = olympus.checked(fun)
    assert [float(run(jnp.array(-jnp.inf))) for _ in range(2)] == [expected] * 2


def test_iterations_of_reversed_loops_name_the_element():
    def loss(w):
        return lax.scan(lambda c, x: (c + w / x, None), 0.0, jnp.array([3.0, 2.0, 0.0, 1.0]))[0]

    with pytest.raises(FloatingPointError, match=r"iteration 1 \(element 2: the loop runs in rev"):
        olympus.checked(olympus.grad(loss))(1.0)


def test_nans_of_arguments_do_not_raise():
    assert np.isnan(olympus.checked(lambda x: x * 2.0 + 1.0)(jnp.array(np.nan)))


def test_operands_that_are_broadcast_are_shown():
    with pytest.raises(FloatingPointError) as caught:
        olympus.checked(lambda x: x / x.sum(1, keepdims=True))(jnp.array([[1.0, 2], [3.0, -3.0]]))
    assert "element (1, 0)" in str(caught.value) and "are 3.0, 0.0" in str(caught.value)
