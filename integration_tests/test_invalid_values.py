# SPDX-License-Identifier: Apache-2.0
"""`debug_nans` and `debug_infs`: functions that report invalid values, and their messages.

The cases are those in which jax 0.10.2 raises FloatingPointError, and those in which it does not.
"""

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp

NAN = np.array([np.nan])


@pytest.mark.parametrize(
    "make",
    [
        lambda: jnp.array([np.nan]),
        lambda: jnp.array([[np.nan], [1]], "bfloat16"),
        lambda: jnp.array(1j * np.nan),
        lambda: jnp.asarray(NAN),
        lambda: jnp.asarray(np.nan),
        lambda: jnp.float32(np.nan),
        lambda: jnp.full(2, np.nan),
        lambda: jnp.copy(NAN),
    ],
)
def test_array_creation_reports_nans(make):
    with (
        olympus.debug_nans(True),
        pytest.raises(FloatingPointError, match=r"invalid value \(nan\)"),
    ):
        make()


def test_array_creation_reports_infinities():
    with olympus.debug_infs(True):
        for make in (lambda: jnp.array([np.inf]), lambda: jnp.asarray(-np.inf)):
            with pytest.raises(FloatingPointError, match=r"invalid value \(inf\)"):
                make()


def test_transfers_and_isnan_are_not_reported():
    array = jnp.asarray(NAN)
    with olympus.debug_nans(True), olympus.debug_infs(True):
        assert jnp.asarray(array) is array
        assert np.isnan(olympus.device_put(np.nan))
        assert np.isnan(olympus.device_put(NAN)).all()
        assert jnp.isnan(np.nan)


@pytest.mark.parametrize("scale", [lambda x: x * 3.0, lambda x: x])
def test_error_of_compiled_function_names_invalid_inputs(scale):
    words = r"the de-optimized function did not .*input"
    with olympus.debug_nans(True), pytest.raises(FloatingPointError, match=words):
        olympus.jit(scale)(np.nan)


def test_error_of_compiled_function_names_invalid_literals():
    words = r"the de-optimized function did not .*literal"
    with olympus.debug_nans(True), pytest.raises(FloatingPointError, match=words):
        olympus.jit(lambda: jnp.nan)()


def test_error_names_the_operation():
    with olympus.debug_nans(True), pytest.raises(FloatingPointError) as caught:
        olympus.jit(lambda x: jnp.log(x) * 0)(-1.0)
    assert "invalid value (nan) encountered in log" in str(caught.value)
    assert "de-optimized" not in str(caught.value)
