# SPDX-License-Identifier: Apache-2.0
"""Every public function works under strict settings: none relies on implicit promotion.

Results come in the containers of JAX.

The calls, and what JAX refuses of them, come from tools/differential, whose sweep compares more
modes, dtypes and settings, and the types of results.
"""

import functools
import os
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import pytest

import olympus
import olympus.experimental.sparse
import olympus.numpy as jnp
import olympus.scipy.ndimage
import olympus.scipy.stats
from olympus import lax

sys.path.append(str(pathlib.Path(__file__).parent.parent / "tools" / "differential"))

import calls
import sweep


@pytest.fixture
def library():
    yield sweep.Library("olympus")
    olympus.config.update("olympus_explicit_x64_dtypes", "warn")


@pytest.mark.parametrize(("setting", "dtype"), [("both", "float32"), ("explicit", "float64")])
def test_calls_accepted_by_jax_are_accepted(library, setting, dtype):
    flags = dict(sweep.SETTINGS[setting])
    for flag in sweep.LASTING:
        if flag in flags:
            library.update({flag: flags.pop(flag)})
    refused_by_jax = sweep.refusals(setting)
    refused = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for expressions in calls.sections().values():
            for expression in expressions:
                status, detail = sweep.outcome(library, expression, dtype, "trace", flags)
                if status != "ok" and expression not in refused_by_jax:
                    refused[expression] = detail
    assert refused == {}


def test_results_have_the_containers_of_jax(library):
    recorded = sweep.result_containers()
    assert len(recorded) > 140
    found = {
        expression: sweep.outcome(library, expression, "float32", "trace", {})[1][0]
        for expression in recorded
    }
    assert found == recorded


X, M = np.arange(1, 5, dtype=np.float32), np.arange(8, dtype=np.float32).reshape(2, 4)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, m: jnp.trace(m),
        lambda x, m: (jnp.nanvar(m), jnp.nanstd(m)),
        lambda x, m: (jnp.isclose(x, x), jnp.allclose(x, x)),
        lambda x, m: jnp.nan_to_num(x),
        lambda x, m: (jnp.trapezoid(x), jnp.gradient(x), jnp.unwrap(x)),
        lambda x, m: jnp.pad(x, 2, mode="linear_ramp"),
        lambda x, m: (jnp.polyadd(x, jnp.ravel(m)), jnp.polysub(x, jnp.ravel(m))),
        lambda x, m: olympus.scipy.ndimage.map_coordinates(m, [x / x, x / x], order=1),
        lambda x, m: olympus.scipy.stats.truncnorm.cdf(x, -x, x),
        lambda x, m: olympus.scipy.stats.truncnorm.logsf(x, -x, x),
        lambda x, m: lax.reduce_window(m, -np.inf, lax.max, (1, 2), (1, 1), "SAME"),
    ],
)
def test_calls_on_device_arrays_make_no_host_transfers(call):
    x, m = jnp.asarray(X), jnp.asarray(M)
    with olympus.transfer_guard_host_to_device("disallow"):
        found = call(x, m)
    np.testing.assert_array_equal(
        np.concatenate([np.ravel(each) for each in olympus.tree.leaves(found)]),
        np.concatenate([np.ravel(each) for each in olympus.tree.leaves(call(x, m))]),
    )


def test_default_ddof_and_tolerances_equal_numpy():
    values = np.array([[1.0, np.nan, 3.0], [2.0, 5.0, 8.0]], np.float32)
    np.testing.assert_allclose(jnp.nanvar(values, axis=1), np.nanvar(values, axis=1), rtol=1e-6)
    np.testing.assert_allclose(
        jnp.nanvar(values, axis=1, ddof=1), np.nanvar(values, axis=1, ddof=1), rtol=1e-6
    )
    np.testing.assert_allclose(jnp.var(M, ddof=1), np.var(M, ddof=1), rtol=1e-6)
    np.testing.assert_allclose(jnp.trace(M, 1), np.trace(M, 1))
    np.testing.assert_allclose(jnp.unwrap(X * 3, period=4.0), np.unwrap(X * 3, period=4.0))
    near = np.float32(1) + np.array([0, 5e-6, 5e-5, 5e-3], np.float32)
    assert jnp.isclose(near, 1.0).tolist() == np.isclose(near, 1.0).tolist()
    assert jnp.isclose(near, 1.0, rtol=1e-3).tolist() == np.isclose(near, 1.0, rtol=1e-3).tolist()


def test_probabilities_may_have_dtype_of_their_own():
    values = np.random.RandomState(0).rand(3, 4).astype(np.float32)
    percentages = np.array([10, 50])
    wanted = np.percentile(values, percentages, axis=1)
    with olympus.enable_x64(True), olympus.numpy_dtype_promotion("strict"):
        got = jnp.percentile(values, percentages, axis=1)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
        correlations = jnp.corrcoef(values, dtype="complex64")
        assert correlations.dtype == np.complex64
        np.testing.assert_allclose(correlations, np.corrcoef(values), rtol=1e-5)


def test_first_array_can_be_created_under_transfer_guard():
    program = "import olympus.numpy as jnp; print(jnp.arange(3))"
    finished = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"OLYMPUS_TRANSFER_GUARD": "disallow"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.stdout == "[0 1 2]\n", finished.stderr


def test_explicit_wide_types_are_computed_in_double_precision(library):
    library.update({"explicit_x64_dtypes": "allow"})
    values = np.linspace(0.1, 0.9, 5)
    x = jnp.asarray(values, dtype=jnp.float64)
    for got, wanted in (
        (jnp.full(5, 0.1, dtype=jnp.float64), np.full(5, 0.1)),
        (jnp.arange(0.0, 1.0, 0.1, dtype=jnp.float64), np.arange(0.0, 1.0, 0.1)),
        (x.mean(), values.mean()),
        (jnp.var(x), values.var()),
        (jnp.tanh(x) * 3, np.tanh(values) * 3),
        (olympus.scipy.special.logsumexp(x), np.log(np.exp(values).sum())),
        (olympus.grad(lambda x: (x**2).sum())(x), 2 * values),
        (olympus.jit(lambda x: x / 3)(x), values / 3),
        (olympus.vmap(lambda x: x * 3)(x), values * 3),
        (jnp.linalg.solve(jnp.diag(x), x), np.ones(5)),
    ):
        assert got.dtype == np.float64
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-14)


def test_statistics_and_sparse_products_keep_explicit_wide_types(library):
    library.update({"explicit_x64_dtypes": "allow"})
    values = np.linspace(0.1, 0.9, 5)
    square = np.eye(5) + values
    x, matrix = jnp.asarray(values, dtype=jnp.float64), jnp.asarray(square, dtype=jnp.float64)
    entries = olympus.experimental.sparse.BCOO.fromdense(matrix)
    rows = olympus.experimental.sparse.BCSR.fromdense(matrix)
    weigh = jnp.frompyfunc(lambda left, right: left + right / 3, 2, 1, identity=0)
    weighed = functools.reduce(lambda left, right: left + right / 3, values, 0.0)
    pairs = [values[0] + values[1] / 3, values[2]]
    density, edges = np.histogram(values, 3, density=True)
    counts, _, _ = np.histogram2d(values, values, 3, density=True)
    for got, wanted in (
        (jnp.histogram(x, 3, density=True)[0], density),
        (jnp.histogram_bin_edges(x, 3), edges),
        (jnp.histogram2d(x, x, 3, density=True)[0], counts),
        (jnp.polyval(x, x), np.polyval(values, values)),
        (weigh.reduce(x), weighed),
        (weigh.reduceat(x[:3], jnp.array([0, 2])), pairs),
        (entries @ x, square @ values),
        (rows @ x, square @ values),
        (jnp.average(x, returned=True)[1], 5),
        (jnp.intersect1d(x[:0], x[:0], size=2), np.zeros(2)),
        (olympus.experimental.sparse.sparsify(jnp.dot)(entries, matrix), square @ square),
    ):
        assert got.dtype == np.float64
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-14)


def test_callbacks_return_explicit_wide_types(library):
    library.update({"explicit_x64_dtypes": "allow"})
    third = olympus.ShapeDtypeStruct((), np.float64)

    def divide(x):
        return olympus.pure_callback(lambda x: np.float64(x) / 3, third, x)

    for got in (divide(1.0), olympus.jit(divide)(1.0)):
        assert got.dtype == np.float64
        assert float(got) == 1 / 3


def test_types_of_arguments_are_narrowed(library):
    # As in JAX 0.10.2: an argument of 64 bits is narrowed, and so is the type of one.
    struct = olympus.ShapeDtypeStruct((2,), np.float64)
    for mode in ("warn", "allow", "error"):
        library.update({"explicit_x64_dtypes": mode})
        assert jnp.result_type(struct) == np.float32
        assert jnp.zeros_like(struct).dtype == np.float32
        assert olympus.eval_shape(lambda x: x, struct).dtype == np.float32


def test_numpy_arrays_are_narrowed_on_conversion(library):
    library.update({"explicit_x64_dtypes": "allow"})
    given = np.ones(3)
    narrow = jnp.ones(3)
    assert jnp.asarray(given).dtype == np.float32
    assert olympus.jit(lambda x: x + 1)(given).dtype == np.float32
    assert olympus.lax.add(narrow, given).dtype == np.float32
    assert (narrow * given).dtype == np.float32
