# SPDX-License-Identifier: Apache-2.0
"""Random programs that write references: all evaluations and transformations agree."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax

LEAVES = ("write", "add", "read", "slice", "swap")
NESTED = ("jit", "scan", "fori", "cond", "mapped_read")


def program(generator, depth=0):
    """Returns random instructions: a name, two indices, a number, and nested programs."""
    kinds = LEAVES + NESTED if depth < 2 else LEAVES
    instructions = []
    for kind in generator.choice(kinds, generator.integers(2, 5)):
        places = generator.integers(0, 4, 2).tolist()
        inner = [program(generator, depth + 1) for _ in range(2)] if kind in NESTED[:4] else []
        instructions.append((str(kind), *places, float(generator.integers(1, 4)), inner))
    return instructions


def run(instructions, r, q, x):
    """Runs a program on two references of four elements and a scalar; returns a scalar."""
    for kind, i, j, factor, inner in instructions:
        if kind == "write":
            r[i] = jnp.sin(q[j]) * x * factor * 0.5
        elif kind == "add":
            olympus.ref.addupdate(q, i, jnp.cos(r[j]) * x)
        elif kind == "read":
            x = x * 0.5 + r[i] * q[j] * 0.3
        elif kind == "slice":
            r[i // 2 : i // 2 + 2] = q[1:3] * 0.7 + x * 0.1
        elif kind == "swap":
            x = x + olympus.ref.swap(r, i, x * 0.2)
        elif kind == "mapped_read":
            x = x + olympus.vmap(lambda place: r[place] * 0.1)(jnp.arange(4)).sum()
        elif kind == "jit":
            x = olympus.jit(lambda x, inner=inner: run(inner[0], r, q, x))(x)
        elif kind == "scan":

            def body(carry, z, inner=inner, i=i):
                carry = run(inner[0], r, q, carry)
                r[i] = r[i] * 0.9 + z
                return carry, carry * z

            x, results = lax.scan(body, x, jnp.arange(3.0) * 0.1)
            x = x + results.sum()
        elif kind == "fori":

            def step(place, carry, inner=inner):
                r[place] = r[place] * 0.5 + carry * 0.1
                return run(inner[0], q, r, carry)

            x = lax.fori_loop(0, 2, step, x)
        else:
            x = lax.cond(
                x > 0.3,
                lambda x, inner=inner: run(inner[0], r, q, x),
                lambda x, inner=inner: run(inner[1], r, q, x),
                x,
            )
    return x


@pytest.mark.thorough("1")
@pytest.mark.parametrize("seed", range(4))
def test_random_reference_programs_agree_under_all_transformations(seed):
    instructions = program(np.random.default_rng(seed))

    def fun(x, y):
        r, q = olympus.new_ref(y), olympus.new_ref(y * 0.5)
        result = run(instructions, r, q, x)
        return result + (r[...] * jnp.arange(4.0)).sum() + q[...].sum()

    def equal(given, expected):
        np.testing.assert_allclose(given, expected, rtol=2e-3, atol=2e-3)

    x, y = jnp.float32(0.4), jnp.array([0.1, 0.5, -0.3, 0.8])
    equal(olympus.jit(fun)(x, y), fun(x, y))

    by_x, by_y = olympus.grad(fun, (0, 1))(x, y)
    direction = jnp.array([0.3, -0.2, 0.5, 1.0])
    _, tangent = olympus.jvp(fun, (x, y), (jnp.float32(0.7), direction))
    equal(by_x * 0.7 + by_y @ direction, tangent)
    equal(olympus.jit(olympus.grad(fun, 1))(x, y), by_y)
    equal(olympus.grad(olympus.jit(fun), 1)(x, y), by_y)
    equal(olympus.grad(olympus.checkpoint(fun))(x, y), by_x)

    xs, ys = jnp.array([0.4, 0.1, 0.9]), jnp.stack([y, y * 2, y - 1])
    values = [fun(*example) for example in zip(xs, ys, strict=True)]
    derivatives = [olympus.grad(fun)(*example) for example in zip(xs, ys, strict=True)]
    equal(olympus.vmap(fun)(xs, ys), values)
    equal(olympus.jit(olympus.vmap(fun, (0, 1)))(xs, ys.T), values)
    equal(olympus.vmap(olympus.grad(fun))(xs, ys), derivatives)
    equal(olympus.grad(lambda xs: olympus.vmap(fun)(xs, ys).sum())(xs), derivatives)

    # References from outside hold in the end what those made inside held.
    outside = [olympus.new_ref(y), olympus.new_ref(y * 0.5)]
    result = olympus.jit(lambda r, q: run(instructions, r, q, x))(*outside)
    total = result + (outside[0][...] * jnp.arange(4.0)).sum() + outside[1][...].sum()
    equal(total, fun(x, y))
