# SPDX-License-Identifier: Apache-2.0
"""Programs that failed under ``nox -s fuzz``, compared with loops in place of batches."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.experimental import ode


def written(x):
    """Returns the elements of a reference after a loop with a data-dependent length."""
    count = jnp.sum(jnp.clip(x, 0, 50).astype("int32"))
    start = lax.while_loop(
        lambda carry: carry[0] < count % 4,
        lambda carry: (carry[0] + 1, jnp.tanh(jnp.roll(carry[1], 1))),
        (jnp.zeros((), "int32"), x),
    )[1]
    start = jnp.clip(start, 0, 50).astype("int32").astype("float32")
    reference = olympus.new_ref(start)

    def write(place, carry):
        olympus.ref.addupdate(reference, place % 2, jnp.sin(x[0]))
        return carry

    lax.fori_loop(0, 3, write, 0)
    return lax.scan(lambda carry, row: (jnp.tanh(carry),) * 2, reference[...], start)[1]


def test_derivatives_of_convolutions_without_operands():
    def convolved(x):
        sums = jnp.broadcast_to(jnp.sum(x), (2, 2, 2))
        images, kernels = jnp.resize(sums, (1, 2, 3)), jnp.resize(sums, (2, 2, 1))
        return lax.conv_general_dilated(images, kernels, (2,), [(0, 0)], rhs_dilation=(2,))

    x = jnp.zeros((2, 0))
    assert olympus.jacfwd(olympus.jacfwd(convolved))(x).shape == (1, 2, 2, 2, 0, 2, 0)


def test_random_numbers_without_compilation():
    """Python numbers become 32-bit floats without compilation as well."""
    key = olympus.random.key(25)
    draws = [
        lambda: olympus.random.bernoulli(key, 0.4, (8,)),
        lambda: olympus.random.bernoulli(key, np.full(8, 0.4), mode="high"),
        lambda: olympus.random.geometric(key, 0.3, (8,)),
        lambda: olympus.random.categorical(key, np.zeros(4), shape=(8,)),
        lambda: olympus.random.choice(key, 4, (8,), p=np.array([0.1, 0.2, 0.3, 0.4])),
    ]
    for draw in draws:
        with olympus.disable_jit():
            found = draw()
        np.testing.assert_array_equal(found, draw())


def test_arrays_of_numpy_without_compilation():
    x, table = np.array([0.5, 2.5]), np.array([0.0, 1.0, 2.0, 3.0])
    with olympus.disable_jit():
        np.testing.assert_array_equal(jnp.searchsorted(table, x), np.searchsorted(table, x))
        np.testing.assert_allclose(jnp.interp(x, table, table**2), np.interp(x, table, table**2))
        found = jnp.put_along_axis(table, np.array([1]), 7.0, axis=0, inplace=False)
    np.testing.assert_array_equal(found, [0, 7, 2, 3])


def test_fusion_cuts_in_loops_over_scalars():
    """The compiler evaluates loops over few numbers separately, once without barriers."""
    times = jnp.linspace(0.0, 1.0, 3)
    found = ode.odeint(lambda y, time: -y * time, jnp.float32(0.5), times)
    np.testing.assert_allclose(found, 0.5 * np.exp(-np.square(times) / 2), rtol=1e-5)


def gradient(function, x):
    result, pull = olympus.vjp(function, x)
    return pull(0.5 * jnp.cos(result))[0]


def test_jacobian_of_batched_loops_that_write_reference():
    """The rule of the loop batches a primal result that no example changes."""
    x = jnp.array([0.75, 1.7])

    def batched(x):
        return olympus.vmap(written)(jnp.stack([x, x * 0.5]))

    def looped(x):
        return jnp.stack([written(x), written(x * 0.5)])

    result = olympus.jacfwd(lambda x: gradient(batched, x))(x)
    expected = olympus.jacrev(lambda x: gradient(looped, x))(x)
    assert np.any(np.abs(expected) > 0.01)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_argmin_and_argmax_of_complex_constants():
    # Folding a comparison of complex constants ended the process.
    program = (
        "import olympus, olympus.numpy as jnp\n"
        "ones = olympus.jit(lambda: jnp.nanargmin(jnp.ones((3, 3), complex)))\n"
        "x = [[1 + 1j, 1 - 1j], [0 + 5j, 0 + 6j]]\n"
        "rows = olympus.jit(lambda: jnp.argmax(jnp.array(x), axis=1))\n"
        "print(ones(), rows())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split("\n")[0] == "0 [0 1]", done.stderr[-2000:]


def test_disabled_64_bit_arrays():
    """They keep their dtype among themselves, and are narrowed with other operands, as in JAX."""
    with olympus.enable_x64(True):
        x, n = jnp.arange(1.0, 4.0), jnp.arange(1, 4)
    for kept in (x + x, jnp.sin(x), -x, jnp.where(x > 1, x, x), jnp.zeros_like(x), n / n):
        assert kept.dtype == "float64"
    for narrowed in (x + 1, x + np.arange(3.0), x.sum(), x.mean(), x.max(), jnp.var(x)):
        assert narrowed.dtype == "float32"
    assert (n + n).dtype == (n // n).dtype == "int64"
    assert n.sum().dtype == "int32"
    np.testing.assert_allclose(jnp.sin(x), np.sin([1.0, 2.0, 3.0]), rtol=1e-15)

    total, products = lax.scan(lambda carry, row: (carry + row, carry * row), x[0], x)
    assert total.dtype == products.dtype == "float64" and total == 7
    (gradient,) = olympus.vjp(lambda y: y * y, x)[1](x)
    np.testing.assert_array_equal(np.asarray(gradient), np.array([2.0, 8.0, 18.0]), strict=True)
    assert lax.cond(True, lambda y: y + y, lambda y: y, x).dtype == "float64"


def test_positions_out_of_range_give_extreme_integer():
    for dtype in ("uint8", "uint32", "int32"):
        limits = np.iinfo(dtype)
        extreme = limits.max if limits.min == 0 else limits.min
        for fill_value in (None, int(extreme)):
            taken = olympus.jit(
                lambda x, fill=fill_value: jnp.take(x, np.arange(1, 3), fill_value=fill)
            )(np.array([8, 9], dtype))
            assert taken.dtype == dtype
            assert taken.tolist() == [9, extreme]
