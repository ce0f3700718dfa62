# SPDX-License-Identifier: Apache-2.0
"""Programs on the accelerator, compared with the CPU, NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import olympus
import olympus.numpy as jnp
import olympus.scipy as jsp
from olympus import export, lax, nn, random


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def on(device, function, *arguments):
    """Returns the results of a jitted function whose arguments are committed to a device."""
    placed = olympus.device_put(arguments, device)
    with olympus.default_device(device), olympus.default_matmul_precision("highest"):
        return olympus.tree.map(np.asarray, olympus.jit(function)(*placed))


@pytest.mark.parametrize("implementation", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_keys_and_bits(accelerator, cpu, implementation):
    def draw(data):
        key = random.wrap_key_data(data, impl=implementation)
        first, second = random.split(key)
        return random.key_data(random.fold_in(first, 7)), random.bits(second, (1000,))

    data = random.key_data(random.key(3, impl=implementation))
    there, here = (on(device, draw, data) for device in (accelerator, cpu))
    np.testing.assert_array_equal(there[0], here[0])
    assert there[1].shape == here[1].shape
    if implementation == "threefry2x32":
        # The bits of the other generators may differ between platforms.
        np.testing.assert_array_equal(there[1], here[1])


@pytest.mark.parametrize(
    "sampler",
    [
        random.uniform,
        random.normal,
        random.gumbel,
        random.exponential,
        random.laplace,
        lambda key, shape: random.gamma(key, 2.5, shape),
        lambda key, shape: random.poisson(key, 4.0, shape).astype(np.float32),
        lambda key, shape: random.permutation(key, shape[0]).astype(np.float32),
        lambda key, shape: random.categorical(key, jnp.arange(4.0), shape=shape).astype(np.float32),
    ],
)
def test_samples_are_those_of_the_cpu(accelerator, cpu, sampler):
    there, here = (
        on(device, lambda data: sampler(random.wrap_key_data(data), (2000,)), np.uint32([0, 5]))
        for device in (accelerator, cpu)
    )
    np.testing.assert_allclose(there, here, rtol=2e-5, atol=2e-6)


def transformer(params, x):
    for layer in params:
        q, k, v = jnp.split(x @ layer["qkv"], 3, axis=-1)
        weights = nn.softmax(q @ k.swapaxes(-1, -2) / 8 + jnp.log(jnp.tri(x.shape[-2]) + 1e-9))
        x = x + weights @ v @ layer["out"]
        x = x + nn.gelu(x @ layer["up"]) @ layer["down"]
    return jnp.mean(x**2)


def test_gradients_of_a_transformer(accelerator, cpu, rng):
    def normal(*shape):
        return (rng.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)

    params = [
        {"qkv": normal(64, 192), "out": normal(64, 64), "up": normal(64, 256)}
        | {"down": normal(256, 64)}
        for _ in range(2)
    ]
    gradients = olympus.vmap(olympus.value_and_grad(transformer), in_axes=(None, 0))
    arguments = params, rng.normal(size=(3, 32, 64)).astype(np.float32)
    there, here = (on(device, gradients, *arguments) for device in (accelerator, cpu))
    olympus.tree.map(
        lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-5), there, here
    )


def test_convolutions_and_their_gradients(accelerator, cpu, rng):
    x = rng.normal(size=(4, 8, 20, 20)).astype(np.float32)
    w = rng.normal(size=(12, 8, 3, 3)).astype(np.float32)

    def loss(x, w):
        y = lax.conv_general_dilated(x, w, (2, 1), "SAME", rhs_dilation=(1, 2))
        return jnp.sum(nn.relu(y) ** 2)

    function = olympus.value_and_grad(loss, argnums=(0, 1))
    there, here = (on(device, function, x, w) for device in (accelerator, cpu))
    olympus.tree.map(
        lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-2), there, here
    )


def test_linear_algebra_agrees_with_numpy(accelerator, rng):
    a = rng.normal(size=(6, 6)).astype(np.float32)
    symmetric = a @ a.T + np.eye(6, dtype=np.float32)
    b = rng.normal(size=(6, 2)).astype(np.float32)
    checks = {
        "cholesky": (jnp.linalg.cholesky, np.linalg.cholesky, (symmetric,)),
        "solve": (jnp.linalg.solve, np.linalg.solve, (symmetric, b)),
        "eigvalsh": (jnp.linalg.eigvalsh, np.linalg.eigvalsh, (symmetric,)),
        "svdvals": (jnp.linalg.svdvals, np.linalg.svdvals, (a,)),
        "det": (jnp.linalg.det, np.linalg.det, (a,)),
        "inv": (jnp.linalg.inv, np.linalg.inv, (symmetric,)),
        "lu": (lambda a: jsp.linalg.lu(a)[2], lambda a: scipy.linalg.lu(a)[2], (a,)),
        "expm": (jsp.linalg.expm, scipy.linalg.expm, (a,)),
        "r of qr": (
            lambda a: abs(jnp.linalg.qr(a)[1]),
            lambda a: abs(np.linalg.qr(a)[1]),
            (a,),
        ),
    }
    for name, (ours, numpys, arguments) in checks.items():
        computed = on(accelerator, ours, *arguments)
        expected = numpys(*(each.astype(np.float64) for each in arguments))
        np.testing.assert_allclose(computed, expected, rtol=2e-3, atol=2e-3, err_msg=name)


def test_nonsymmetric_eigenvalues_satisfy_their_equation(accelerator, rng):
    a = rng.normal(size=(5, 5)).astype(np.float32)
    values, vectors = on(accelerator, jnp.linalg.eig, a)
    np.testing.assert_allclose(a @ vectors, vectors * values, atol=1e-4)


def test_sorting_and_scans(accelerator, rng):
    x = rng.normal(size=(7, 1000)).astype(np.float32)
    x[0, :3] = np.nan, -np.inf, np.inf
    np.testing.assert_array_equal(on(accelerator, jnp.sort, x), np.sort(x))
    np.testing.assert_array_equal(
        on(accelerator, lambda x: jnp.argsort(x, stable=True), x), np.argsort(x, kind="stable")
    )
    finite = x[1:]
    np.testing.assert_allclose(
        on(accelerator, lambda x: jnp.cumsum(x, axis=1), finite),
        np.cumsum(finite.astype(np.float64), axis=1),
        atol=1e-3,
    )
    np.testing.assert_array_equal(on(accelerator, jnp.median, finite), np.median(finite))
    np.testing.assert_array_equal(
        on(accelerator, lambda x: lax.top_k(x, 5)[0], finite), -np.sort(-finite)[:, :5]
    )


def test_fourier_transforms_agree_with_numpy(accelerator, rng):
    x = rng.normal(size=(3, 60)).astype(np.float32)
    np.testing.assert_allclose(on(accelerator, jnp.fft.fft, x), np.fft.fft(x), atol=1e-4)
    np.testing.assert_allclose(
        on(accelerator, lambda x: jnp.fft.irfft(jnp.fft.rfft(x)), x), x, atol=1e-5
    )
    np.testing.assert_allclose(on(accelerator, jnp.fft.fft2, x), np.fft.fft2(x), atol=1e-3)


def test_loops_and_their_derivatives(accelerator, cpu):
    def newton(a):
        def body(carry):
            x, _ = carry
            return x - (x * x - a) / (2 * x), x

        return lax.while_loop(lambda c: abs(c[0] - c[1]) > 1e-6, body, (a, 0.0 * a))[0]

    assert abs(on(accelerator, newton, 2.0) - 2**0.5) < 1e-6

    def recurrent(w):
        step = lambda h, x: (jnp.tanh(w * h + x), h)  # noqa: E731
        return lax.scan(step, 0.1, jnp.linspace(0, 1, 50))[1].sum()

    there, here = (on(device, olympus.grad(recurrent), 0.7) for device in (accelerator, cpu))
    np.testing.assert_allclose(there, here, rtol=1e-5)


def test_callbacks_run_on_the_host(accelerator, capfd):
    def doubled(x):
        return np.asarray(x) * 2

    def function(x):
        y = olympus.pure_callback(doubled, olympus.ShapeDtypeStruct(x.shape, x.dtype), x)
        olympus.debug.print("sum {}", y.sum())
        return y

    np.testing.assert_array_equal(
        on(accelerator, function, np.arange(4.0, dtype=np.float32)), 2 * np.arange(4.0)
    )
    olympus.effects_barrier()
    assert "sum 12.0" in capfd.readouterr().out


def test_exported_program_of_another_platform(accelerator, rng, tmp_path):
    platform = "cuda" if accelerator.platform == "gpu" else accelerator.platform
    x = rng.normal(size=(8, 8)).astype(np.float32)
    function = olympus.jit(lambda x: jnp.sort(jnp.tanh(x), axis=0))
    kinds = olympus.ShapeDtypeStruct(x.shape, x.dtype)
    blob = export.export(function, platforms=["cpu", platform])(kinds).serialize()
    called = export.deserialize(blob).call
    there = olympus.jit(called)(olympus.device_put(x, accelerator))
    assert there.devices() == {accelerator}
    np.testing.assert_allclose(there, np.sort(np.tanh(x), axis=0), rtol=1e-5)
    path = tmp_path / "frozen.olympus"
    olympus.freeze(function, x).save(path)
    np.testing.assert_allclose(olympus.load_frozen(path)(x), there, rtol=1e-6)


def test_checks_in_compiled_programs(accelerator):
    @olympus.checked
    def function(x):
        return jnp.log(x).sum()

    with pytest.raises(FloatingPointError, match="log"):
        function(jnp.array([1.0, -1.0]))


def test_memory_and_profile_describe_programs(accelerator):
    def function(x):
        return jnp.tanh(x @ x).sum()

    x = jnp.ones((512, 512))
    assert olympus.memory(function, x).peak >= x.nbytes
    report = olympus.profile(function, x)
    assert __file__ in str(report)


def test_products_of_narrow_floats_have_bounded_errors(accelerator, rng):
    a, b = (rng.normal(size=(128, 128)) for _ in "ab")
    exact = a @ b
    for dtype, bound in ((jnp.bfloat16, 2e-2), (jnp.float16, 3e-3), (np.float32, 1e-5)):
        product = on(
            accelerator,
            lambda a, b: jnp.matmul(a, b, preferred_element_type=np.float32),
            a.astype(dtype),
            b.astype(dtype),
        )
        assert np.abs(product - exact).max() <= bound * np.abs(exact).max()
    wide = on(
        accelerator, lambda a, b: jnp.matmul(a, b), a.astype(np.float32), b.astype(np.float32)
    )
    assert wide.dtype == np.float32


def test_sparse_products_agree_with_dense_ones(accelerator, rng):
    from olympus.experimental import sparse

    dense = np.where(rng.random((20, 30)) < 0.2, rng.normal(size=(20, 30)), 0).astype(np.float32)
    x = rng.normal(size=(30, 4)).astype(np.float32)
    for kind in (sparse.BCOO, sparse.BCSR):
        product = on(accelerator, lambda m, x: m @ x, kind.fromdense(dense), x)
        np.testing.assert_allclose(product, dense @ x, rtol=1e-4, atol=1e-4)
