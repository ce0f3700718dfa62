# SPDX-License-Identifier: Apache-2.0
"""Batched loops that drop finished examples, compared with a loop over examples."""

import numpy as np
import pytest

from olympus_batching import vmap
from olympus_batching.compacted_loops import compaction_sizes
from olympus_ir import lax
from olympus_ir.programs.make import make_olympuspr

rng = np.random.default_rng(0)


def collatz(n, batch=None, **options):
    def step(state):
        n, count = state
        even = lax.eq(lax.rem(n, np.int32(2)), np.int32(0))
        half = lax.div(n, np.int32(2))
        return lax.select(even, half, lax.add(lax.mul(n, np.int32(3)), np.int32(1))), lax.add(
            count, np.int32(1)
        )

    start = (n, np.int32(0))
    return lax.while_loop(
        lambda state: lax.ne(state[0], np.int32(1)), step, start, batch=batch, **options
    )[1]


def steps_of_collatz(n):
    count = 0
    while n != 1:
        n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
    return count


@pytest.mark.parametrize("batch", [None, "select", "compact", (64, 7), (1,), [500, 3]])
@pytest.mark.parametrize("options", [{}, {"max_steps": 500}], ids=["free", "bounded"])
def test_lengths_of_collatz(batch, options):
    numbers = np.arange(1, 200, dtype=np.int32)
    counts = vmap(lambda n: collatz(n, batch, **options))(numbers)
    assert np.asarray(counts).tolist() == [steps_of_collatz(int(n)) for n in numbers]


def newton(a, x, batch):
    """Square roots of a matrix of numbers, up to a tolerance that each example has."""
    tolerance = lax.mul(lax.reduce_max(a, (0,)), np.float32(1e-3))

    def goes_on(x):
        error = lax.abs(lax.sub(lax.mul(x, x), a))
        return lax.gt(lax.reduce_max(error, (0,)), tolerance)

    return lax.while_loop(
        goes_on, lambda x: lax.mul(lax.add(x, lax.div(a, x)), np.float32(0.5)), x, batch=batch
    )


@pytest.mark.parametrize("batch", ["compact", (9, 2)])
@pytest.mark.parametrize("in_axes", [(0, 0), (1, None), (0, None)])
def test_batched_constants_and_carries(batch, in_axes):
    count = 40
    a = rng.uniform(0.01, 1e4, (count, 3)).astype(np.float32)
    x = np.ones((count, 3) if in_axes[1] == 0 else 3, np.float32)
    given = a.T if in_axes[0] == 1 else a
    batched = vmap(lambda a, x: newton(a, x, batch), in_axes)(given, x)
    each = [newton(a[i], x[i] if in_axes[1] == 0 else x, None) for i in range(count)]
    np.testing.assert_allclose(batched, np.stack(each), rtol=1e-6)


def test_nested_maps_compact_every_level():
    numbers = np.arange(1, 61, dtype=np.int32).reshape(4, 15)
    counts = vmap(vmap(lambda n: collatz(n, (4,))))(numbers)
    assert np.asarray(counts).tolist() == [
        [steps_of_collatz(int(n)) for n in row] for row in numbers
    ]


def test_finished_examples_and_empty_batch():
    assert np.asarray(vmap(lambda n: collatz(n, "compact"))(np.ones(40, np.int32))).max() == 0
    assert vmap(lambda n: collatz(n, "compact"))(np.ones(0, np.int32)).shape == (0,)


def test_later_stages_iterate_over_fewer_examples():
    closed = make_olympuspr(vmap(lambda n: collatz(n, (16, 4))))(np.arange(1, 65, dtype=np.int32))
    loops = [eqn for eqn in closed.jaxpr.eqns if eqn.primitive is lax.while_p]
    assert [loop.outvars[0].aval.shape for loop in loops] == [(64,), (16,), (4,)]


def test_a_collective_over_the_examples_keeps_all():
    def loop(x):
        def step(x):
            return lax.add(x, lax.psum(lax.mul(x, np.float32(0)), "i") + np.float32(1))

        return lax.while_loop(lambda x: lax.lt(x, np.float32(3)), step, x, batch="compact")

    starts = np.array([0.5, 2.5, 7.0], np.float32)
    assert np.asarray(vmap(loop, axis_name="i")(starts)).tolist() == [3.5, 3.5, 7.0]


@pytest.mark.parametrize(
    "batch, size, sizes",
    [
        ("compact", 1024, (256, 64, 16)),
        ("compact", 20, ()),
        ((3, 700, 9), 500, (9, 3)),
        ((4, 4), 8, (4,)),
    ],
)
def test_sizes_descend_below_size_of_batch(batch, size, sizes):
    assert compaction_sizes(batch, size) == sizes


@pytest.mark.parametrize("batch", ["shrink", (), (0,), (2.5,), 3])
def test_invalid_batch_options_raise(batch):
    with pytest.raises(ValueError, match="'select', 'compact' or a sequence of positive"):
        collatz(np.int32(3), batch)
