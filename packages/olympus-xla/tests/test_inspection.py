# SPDX-License-Identifier: Apache-2.0
"""Looking at shardings that the compiler chose."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.make import make_olympuspr
from olympus_sharding import (
    NamedSharding,
    PartitionSpec,
    SingleDeviceSharding,
    inspect_array_sharding,
    visualize_array_sharding,
)
from olympus_xla.arrays.transfer import device_put
from olympus_xla.calls.jit import jit

P = PartitionSpec
X = np.arange(32, dtype=np.float32).reshape(8, 4)


@pytest.fixture
def rows(mesh):
    return NamedSharding(mesh, P("x"))


def watched(seen):
    def fun(x):
        y = lax.sin(x)
        inspect_array_sharding(y, callback=seen.append)
        return lax.reduce_sum(y, tuple(range(y.ndim)))

    return fun


def test_inspection_of_arrays(rows, devices):
    seen = []
    inspect_array_sharding(device_put(X, rows), callback=seen.append)
    inspect_array_sharding(device_put(X, devices[1]), callback=seen.append)
    assert seen == [rows, SingleDeviceSharding(devices[1])]
    with pytest.raises(TypeError, match="only arrays on devices"):
        inspect_array_sharding(X, callback=print)


def test_inside_compiled_functions(rows, devices):
    seen = []
    compiled = jit(watched(seen))
    for _ in range(2):
        compiled(device_put(X, rows))
    assert seen == [rows]
    compiled(device_put(X, devices[1]))
    assert seen[1:] == [SingleDeviceSharding(devices[1])]


def test_transformed_functions_are_inspected(rows):
    seen = []
    jit(grad(watched(seen)))(device_put(X, rows))
    jit(vmap(watched(seen)))(device_put(X, rows))
    assert seen == [rows] * 2
    program = make_olympuspr(lambda x: inspect_array_sharding(x, callback=print))(X)
    assert "inspect_sharding[callback=<built-in function print>] a" in str(program)


def test_exceptions_are_the_user_s(rows, devices):
    def fails(sharding):
        raise KeyError("mine")

    compiled = jit(lambda x: inspect_array_sharding(x, callback=fails))
    for place in (rows, devices[0]):
        with pytest.raises(KeyError, match="mine"):
            compiled(device_put(X, place))


def test_pictures_are_the_same_inside_of_jit(rows, capsys):
    visualize_array_sharding(device_put(X, rows))
    outside = capsys.readouterr().out
    jit(lambda x: visualize_array_sharding(x))(device_put(X, rows))
    assert capsys.readouterr().out == outside
    assert "CPU 0,1" in outside
