# SPDX-License-Identifier: Apache-2.0
"""`custom_rule`: given rules are used in every composition, missing rules are derived."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from jaxlib.mlir.dialects import stablehlo

import olympus
import olympus.numpy as jnp
from olympus import (
    checkpoint,
    custom_rule,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    lax,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
    vmap,
)
from olympus.sharding import Mesh, NamedSharding, PartitionSpec
from olympus.testing import check_rule

X = np.float32(0.6)
XS = np.float32([0.3, 0.6, 0.9])


class Ruled:
    """A sine whose rules count their calls and return three times the derivative."""

    def __init__(self, *names):
        self.calls = Counter()
        rules = {name: getattr(self, name) for name in names if name != "vjp"}
        if "vjp" in names:
            rules["vjp"] = (self.fwd, self.bwd)
        self.fun = custom_rule(jnp.sin, **rules)

    def jvp(self, primals, tangents):
        self.calls["jvp"] += 1
        (x,), (t,) = primals, tangents
        return self.fun(x), 3 * jnp.cos(x) * t

    def linearize(self, x):
        self.calls["linearize"] += 1
        return self.fun(x), lambda t: 3 * jnp.cos(x) * t

    def fwd(self, x):
        self.calls["fwd"] += 1
        return self.fun(x), x

    def bwd(self, x, ct):
        self.calls["bwd"] += 1
        return (3 * jnp.cos(x) * ct,)

    def batch(self, axis_size, in_batched, x):
        self.calls["batch"] += 1
        return jnp.sin(x), in_batched[0]


def total(f):
    return lambda xs: jnp.sum(vmap(f)(xs))


SLOPE = 3 * np.cos(X)
SLOPES = 3 * np.cos(XS)
BEND = -3 * np.sin(X)

# From a name to a composition, its value, and the rules that it uses, each of which must be called.
COMPOSITIONS = {
    "grad": (lambda f: grad(f)(X), SLOPE, "vjp jvp linearize"),
    "value_and_grad": (lambda f: value_and_grad(f)(X)[1], SLOPE, "vjp jvp linearize"),
    "vjp": (lambda f: vjp(f, X)[1](1.0)[0], SLOPE, "vjp jvp linearize"),
    "jvp": (lambda f: jvp(f, (X,), (1.0,))[1], SLOPE, "vjp jvp linearize"),
    "linearize": (lambda f: linearize(f, X)[1](1.0), SLOPE, "vjp jvp linearize"),
    "jacfwd": (lambda f: jacfwd(f)(X), SLOPE, "vjp jvp linearize"),
    "jacrev": (lambda f: jacrev(f)(X), SLOPE, "vjp jvp linearize"),
    "jit of grad": (lambda f: jit(grad(f))(X), SLOPE, "vjp jvp linearize"),
    "grad of jit": (lambda f: grad(jit(f))(X), SLOPE, "vjp jvp linearize"),
    "jvp of jit": (lambda f: jvp(jit(f), (X,), (1.0,))[1], SLOPE, "vjp jvp linearize"),
    "vmap of grad": (lambda f: vmap(grad(f))(XS), SLOPES, "vjp jvp linearize"),
    "vmap of jit of grad": (lambda f: vmap(jit(grad(f)))(XS), SLOPES, "vjp jvp linearize"),
    "jit of vmap of grad": (lambda f: jit(vmap(grad(f)))(XS), SLOPES, "vjp jvp linearize"),
    "grad of vmap": (lambda f: grad(total(f))(XS), SLOPES, "vjp jvp linearize"),
    "grad of jit of vmap": (lambda f: grad(jit(total(f)))(XS), SLOPES, "vjp jvp linearize"),
    "vmap of jvp": (
        lambda f: vmap(lambda x: jvp(f, (x,), (1.0,))[1])(XS),
        SLOPES,
        "vjp jvp linearize",
    ),
    "jvp of vmap": (
        lambda f: jvp(vmap(f), (XS,), (np.ones(3, np.float32),))[1],
        SLOPES,
        "vjp jvp linearize",
    ),
    "grad of grad": (lambda f: grad(grad(f))(X), BEND, "vjp jvp linearize"),
    "hessian": (lambda f: hessian(f)(X), BEND, "vjp jvp linearize"),
    "jvp of jvp": (
        lambda f: jvp(lambda x: jvp(f, (x,), (1.0,))[1], (X,), (1.0,))[1],
        BEND,
        "vjp jvp linearize",
    ),
    "jacrev of jacfwd": (lambda f: jacrev(jacfwd(f))(X), BEND, "vjp jvp linearize"),
    "grad of checkpoint": (lambda f: grad(checkpoint(f))(X), SLOPE, "vjp jvp linearize"),
    "grad of scan": (
        lambda f: grad(lambda xs: jnp.sum(lax.scan(lambda c, x: (c, f(x)), 0.0, xs)[1]))(XS),
        SLOPES,
        "vjp jvp linearize",
    ),
    "jvp of scan": (
        lambda f: jvp(
            lambda xs: lax.scan(lambda c, x: (c, f(x)), 0.0, xs)[1],
            (XS,),
            (np.ones(3, np.float32),),
        )[1],
        SLOPES,
        "vjp jvp linearize",
    ),
    "grad of cond": (
        lambda f: grad(lambda x: lax.cond(x > 0, f, lambda x: x, x))(X),
        SLOPE,
        "vjp jvp linearize",
    ),
    "jvp of while": (
        lambda f: jvp(
            lambda x: lax.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, f(c[1])), (0, x))[1],
            (X,),
            (1.0,),
        )[1],
        SLOPE,
        "vjp jvp linearize",
    ),
    "vmap": (lambda f: vmap(f)(XS), np.sin(XS), "batch"),
    "jit of vmap": (lambda f: jit(vmap(f))(XS), np.sin(XS), "batch"),
    "vmap of jit": (lambda f: vmap(jit(f))(XS), np.sin(XS), "batch"),
    "vmap of vmap": (lambda f: vmap(vmap(f))(XS[None])[0], np.sin(XS), "batch"),
    "vmap of scan": (
        lambda f: vmap(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0])(XS),
        np.sin(XS),
        "batch",
    ),
    "vmap of cond": (
        lambda f: vmap(lambda x: lax.cond(x > 0, f, lambda x: x, x))(XS),
        np.sin(XS),
        "batch",
    ),
}


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_compositions_use_the_given_rule(name):
    composition, expected, rules = COMPOSITIONS[name]
    assert len(COMPOSITIONS) >= 30
    for rule in rules.split():
        ruled = Ruled(rule)
        np.testing.assert_allclose(composition(ruled.fun), expected, rtol=1e-5)
        assert ruled.calls["bwd" if rule == "vjp" else rule] >= 1


def test_derivative_and_batching_rules():
    ruled = Ruled("vjp", "batch")
    np.testing.assert_allclose(vmap(ruled.fun)(XS), np.sin(XS), rtol=1e-5)
    assert ruled.calls == {"batch": 1}
    np.testing.assert_allclose(vmap(value_and_grad(ruled.fun))(XS)[1], SLOPES, rtol=1e-5)
    assert ruled.calls == {"batch": 2, "fwd": 1, "bwd": 1}


def test_forward_and_reverse_mode_use_their_rules():
    ruled = Ruled("vjp", "jvp")
    grad(ruled.fun)(X)
    assert (ruled.calls["bwd"], ruled.calls["jvp"]) == (1, 0)
    jvp(ruled.fun, (X,), (1.0,))
    assert (ruled.calls["bwd"], ruled.calls["jvp"]) == (1, 1)


def test_a_linear_function_needs_its_transpose_only():
    calls = []

    def transpose(ct):
        calls.append(ct)
        return jnp.flip(ct)

    flip = custom_rule(jnp.flip, transpose=transpose)
    check_rule(flip, XS)
    assert calls
    np.testing.assert_allclose(linear_transpose(flip, XS)(XS)[0], XS[::-1])
    np.testing.assert_allclose(grad(lambda x: flip(x)[0])(XS), [0, 0, 1])

    product = custom_rule(jnp.multiply, transpose=lambda a, ct: 2 * a * ct, linear_argnums=(1,))
    assert grad(product, argnums=1)(3.0, X) == 6
    assert jvp(lambda x: product(3.0, x), (X,), (1.0,))[1] == 3
    assert grad(product)(3.0, X) == X


def test_lowering_rules_with_everything_else_derived():
    def lower(context, x):
        return [stablehlo.sine(x)]

    fun = custom_rule(lambda x: x + 100, lower=lower, reference=jnp.sin)
    np.testing.assert_allclose(fun(X), np.sin(X), rtol=1e-6)
    assert "stablehlo.sine" in jit(fun).lower(X).as_text()
    check_rule(fun, X)
    elsewhere = custom_rule(jnp.cos, lower={"tpu": lower})
    np.testing.assert_allclose(jit(elsewhere)(X), np.cos(X), rtol=1e-6)


def test_partitioned_functions_with_everything_else_derived():
    parts = []

    def fun(x):
        parts.append(x.shape)
        return jnp.cumsum(x, axis=1)

    rows = custom_rule(fun, partition="i j -> i j")
    check_rule(rows, np.ones((4, 3), np.float32))
    devices = olympus.devices()
    mesh = Mesh(np.array(devices), ("d",))
    x = olympus.device_put(
        np.ones((len(devices), 3), np.float32), NamedSharding(mesh, PartitionSpec("d"))
    )
    parts.clear()
    out = jit(rows)(x)
    np.testing.assert_allclose(out, np.tile([1, 2, 3], (len(devices), 1)))
    assert out.sharding.is_equivalent_to(x.sharding, 2)
    assert len(devices) == 1 or (1, 3) in parts


def test_trees_integers_and_arguments_that_are_not_arrays():
    def power(scale, tree, n):
        return {"out": scale(tree["x"]) ** n, "count": tree["k"] + 1}

    def fwd(scale, tree, n):
        return power(scale, tree, n), (tree["x"],)

    def bwd(scale, n, residuals, cts):
        (x,) = residuals
        return ({"x": cts["out"] * n * scale(x) ** (n - 1) * 2, "k": None},)

    fun = custom_rule(power, vjp=(fwd, bwd), nondiff_argnums=(0, 2))
    tree = {"x": X, "k": np.int32(3)}
    value, slope = jvp(
        lambda x: fun(lambda v: 2 * v, {**tree, "x": x}, 3)["out"], (X,), (np.float32(1),)
    )
    np.testing.assert_allclose([value, slope], [(2 * X) ** 3, 24 * X**2], rtol=1e-5)
    gradient = grad(lambda x: fun(lambda v: 2 * v, {**tree, "x": x}, 3)["out"])(X)
    np.testing.assert_allclose(gradient, 24 * X**2, rtol=1e-5)
    assert fun(lambda v: v, tree, n=2)["count"] == 4


def test_check_rule_finds_wrong_rules():
    wrong = {
        "finite difference": {"jvp": lambda p, t: (jnp.sin(p[0]), 2 * t[0])},
        "reference": {"lower": lambda context, x: [stablehlo.cosine(x)]},
        "vmap": {"batch": lambda n, b, x: (jnp.cos(x), b[0])},
        "forward and reverse": {
            "jvp": lambda p, t: (jnp.sin(p[0]), jnp.cos(p[0]) * t[0]),
            "vjp": (lambda x: (jnp.sin(x), x), lambda x, ct: (2 * jnp.cos(x) * ct,)),
        },
    }
    for message, rules in wrong.items():
        with pytest.raises(AssertionError, match=message):
            check_rule(custom_rule(jnp.sin, **rules), X, derivatives=message[:3] == "fin")
    right = (lambda x: (jnp.sin(x), x), lambda x, ct: (jnp.cos(x) * ct,))
    check_rule(custom_rule(jnp.sin, vjp=right), X)


def test_methods_set_rules_and_return_them():
    @custom_rule
    def fun(x):
        return x * x

    with pytest.raises(AttributeError, match="No rule defined for custom_rule function fun"):
        fun(X)

    @fun.def_jvp
    def rule(primals, tangents):
        return fun(*primals), 5 * tangents[0]

    assert callable(rule)
    assert grad(fun)(X) == 5
    fun.def_vjp(lambda x: (x * x, None), lambda _, ct: (7 * ct,))
    assert grad(fun)(X) == 7

    @fun.def_lower(platform="cpu")
    def lower(context, x):
        return [stablehlo.negate(x)]

    assert fun(X) == -X

    def structure(x):
        return x

    bad = custom_rule(structure, vjp=(lambda x: (x, None), lambda _, ct: (ct, ct)))
    with pytest.raises(TypeError, match="must return a tuple with a cotangent for each argument"):
        grad(bad)(X)
