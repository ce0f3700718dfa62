# SPDX-License-Identifier: Apache-2.0
"""Functions that run on the hosts of the devices of their arguments."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus.experimental.colocated_python import (
    colocated_cpu_devices,
    colocated_python,
    colocated_python_class,
)
from olympus.sharding import Mesh


@colocated_python
def scaled(x, y):
    return {"product": np.asarray(x) * np.asarray(y)}


def test_results_have_the_sharding_of_the_arguments():
    x = jnp.arange(3.0)
    found = scaled(x, x)["product"]
    assert isinstance(found, olympus.Array) and found.sharding == x.sharding
    np.testing.assert_array_equal(found, [0, 1, 4])
    assert scaled.__name__ == "scaled"


def test_devices_of_functions_without_arguments():
    @colocated_python
    def ones():
        return np.ones(2, np.float32)

    with pytest.raises(ValueError, match="must be first specialized with devices"):
        ones()
    devices = olympus.devices()[:1]
    found = ones.specialize(devices=devices)()
    assert found.devices() == set(devices)
    with pytest.raises(ValueError, match="devices already specified"):
        ones.specialize(devices=devices).specialize(devices=devices)


def test_specifications_determine_types_of_results():
    x = jnp.arange(3.0)
    struct = olympus.ShapeDtypeStruct((3,), np.float32, sharding=x.sharding)
    right = scaled.specialize(out_specs_fn=lambda *args: {"product": struct})
    np.testing.assert_array_equal(right(x, x)["product"], [0, 1, 4])
    wrong = scaled.specialize(
        out_specs_fn=lambda *args: {"product": olympus.ShapeDtypeStruct((4,), np.float32)}
    )
    with pytest.raises(ValueError, match="results of a colocated function have shape"):
        wrong(x, x)
    with pytest.raises(ValueError, match="arguments of a colocated function are"):
        scaled.specialize(in_specs=((struct,), {}))(x, x)


def test_invalid_arguments_raise():
    with pytest.raises(TypeError, match="take arrays on devices"):
        scaled(3, 4)
    with pytest.raises(TypeError, match="called in a traced function"):
        olympus.jit(lambda x: scaled(x, x))(1.0)


def test_objects_keep_their_state_between_calls():
    made = []

    @colocated_python_class
    class Counter:
        """Counts."""

        def __init__(self, start):
            made.append(start)
            self.count = start

        def add(self, x):
            self.count += 1
            return x + self.count

    counter = Counter(3)
    assert made == [] and Counter.__doc__ == "Counts."
    np.testing.assert_array_equal(counter.add(jnp.arange(2)), [4, 5])
    np.testing.assert_array_equal(counter.add(jnp.arange(2)), [5, 6])
    assert made == [3]
    with pytest.raises(AttributeError, match="no public method 'nothing'"):
        counter.nothing  # noqa: B018 - the access is what is tested


def test_colocated_devices_are_cpus_of_hosts():
    devices = olympus.devices("cpu")
    assert colocated_cpu_devices(devices) == devices
    mesh = Mesh(np.array(devices), ("x",))
    assert colocated_cpu_devices(mesh) == mesh
