# SPDX-License-Identifier: Apache-2.0
"""Every public function works under strict settings: none relies on implicit promotion.

The calls, and what JAX refuses of them, come from tools/differential, whose sweep compares more
modes, dtypes and settings, and the types of results.
"""

import pathlib
import sys
import warnings

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp

sys.path.append(str(pathlib.Path(__file__).parent.parent / "tools" / "differential"))

import calls
import sweep


@pytest.fixture
def library():
    yield sweep.Library("olympus")
    olympus.config.update("olympus_explicit_x64_dtypes", "warn")


@pytest.mark.parametrize(("setting", "dtype"), [("both", "float32"), ("explicit", "float64")])
def test_calls_that_jax_accepts_are_accepted(library, setting, dtype):
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


def test_arrays_of_numpy_are_narrowed_where_they_enter(library):
    library.update({"explicit_x64_dtypes": "allow"})
    given = np.ones(3)
    narrow = jnp.ones(3)
    assert jnp.asarray(given).dtype == np.float32
    assert olympus.jit(lambda x: x + 1)(given).dtype == np.float32
    assert olympus.lax.add(narrow, given).dtype == np.float32
    assert (narrow * given).dtype == np.float32
