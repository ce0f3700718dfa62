# SPDX-License-Identifier: Apache-2.0
"""Operations that XLA's partitioner gets wrong if it shards them as it likes.

It fills up shards of dimensions that the devices do not divide evenly, and lets the elements with
which it fills them up take part in scatters. Arguments of compiled functions are sharded evenly, so
the tests take parts of them.
"""

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_sharding import NamedSharding
from olympus_sharding import PartitionSpec as P
from olympus_xla import device_put, jit

SCATTERS = {
    lax.scatter_add: np.add,
    lax.scatter_sub: np.subtract,
    lax.scatter_mul: np.multiply,
    lax.scatter_min: np.minimum,
    lax.scatter_max: np.maximum,
}


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 2, shape).astype(np.float32)


def sharded(mesh, x, *spec):
    return device_put(x, NamedSharding(mesh, P(*spec)))


def scattered(scatter, x, places, updates):
    """Returns a scatter of rows."""
    order = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    return scatter(x, lax.expand_dims(places, (1,)), updates, order)


@pytest.mark.parametrize("scatter", SCATTERS, ids=lambda scatter: scatter.__name__)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_scatters_of_as_many_rows_as_shards_do_not_divide(mesh, scatter, count):
    x, updates = numbers(4, 4), numbers(4, 4, seed=1)
    places = np.array([1, 0, 1, 3], np.int32)
    expected = x.copy()
    SCATTERS[scatter].at(expected, places[:count], updates[:count])

    @jit
    def run(x, places, updates):
        return scattered(scatter, x, places[:count], updates[:count])

    for specs in [((), ("x",), ()), ((), (), (("x", "y"),)), (("y", "x"), (), ("x", "y"))]:
        arguments = zip((x, places, updates), specs, strict=True)
        result = run(*(sharded(mesh, each, *spec) for each, spec in arguments))
        np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_batches_of_uneven_scatters(mesh):
    x, updates = numbers(2, 4, 4), numbers(2, 4, 4, seed=1)
    places = np.array([[1, 1, 0, 3], [2, 0, 2, 2]], np.int32)
    expected = x[:, :3].copy()
    for row, at, update in zip(expected, np.minimum(places, 2), updates, strict=True):
        np.multiply.at(row, at[:3], update[:3])

    @jit
    def run(x, places, updates):
        places = lax.min(places, np.int32(2))[:, :3]
        rule = vmap(lambda *each: scattered(lax.scatter_mul, *each))
        return rule(x[:, :3], places, updates[:, :3])

    for spec in [(None, "x"), ("x", "y"), (None, ("x", "y"))]:
        result = run(*(sharded(mesh, each, *spec) for each in (x, places, updates)))
        np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize("start", [-3, 0, 1, 2, 9])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_updates_of_uneven_slices_with_starts_out_of_bounds(mesh, start, count):
    x, update = numbers(4, 4), -numbers(count, 4)
    expected, first = x[:3].copy(), min(max(start, 0), 3 - count)
    expected[first : first + count] = update

    @jit
    def run(x, start):
        return lax.dynamic_update_slice(x[:3], update, (start, np.int32(0)))

    for spec in [("x",), ("x", "y"), (("x", "y"),)]:
        np.testing.assert_array_equal(run(sharded(mesh, x, *spec), np.int32(start)), expected)


@pytest.mark.parametrize("padding", ["SAME", "VALID", ((2, 2), (0, 1))])
@pytest.mark.parametrize("window", [2, 4])
def test_convolutions_over_some_axes_of_a_mesh(mesh, padding, window):
    """XLA's partitioner adds up results over the axes over which arrays are repeated, too."""
    x, kernel = numbers(2, 2, 4, 4), numbers(2, 2, window, window, seed=1)

    def convolved(x, kernel):
        return lax.conv_general_dilated(x, kernel, (1, 1), padding)

    def derivatives(x, kernel):
        def loss(x, kernel):
            return lax.reduce_sum(lax.integer_pow(convolved(x, kernel), 2), (0, 1, 2, 3))

        return convolved(x, kernel), *grad(loss, (0, 1))(x, kernel)

    # Programs of one device are not partitioned.
    expected, run = jit(derivatives)(x, kernel), jit(derivatives)
    specs = [(), ("x",), (None, "x"), (None, None, "x"), (None, None, None, "y"), ("y", None, "x")]
    for of_x, of_kernel in [*((spec, ()) for spec in specs), (specs[3], specs[2]), (specs[4],) * 2]:
        results = run(sharded(mesh, x, *of_x), sharded(mesh, kernel, *of_kernel))
        for result, each in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, each, rtol=1e-5)
