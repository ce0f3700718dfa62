# SPDX-License-Identifier: Apache-2.0
"""Values that are unreduced over explicit axes: their terms on devices, and their sums."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import P, lax, reshard
from olympus.errors import ShardingTypeError
from olympus.sharding import AxisType

pytestmark = pytest.mark.usefixtures("eight_devices")

X = np.arange(8, dtype=np.float32)


@pytest.fixture(autouse=True)
def mesh():
    with olympus.set_mesh(olympus.make_mesh((2,), ("x",), (AxisType.Explicit,))) as made:
        yield made


def terms(array):
    return [np.asarray(shard.data) for shard in array.addressable_shards]


@pytest.mark.parametrize("spec", [P(), P("x")], ids=str)
@pytest.mark.parametrize(
    "move",
    [
        lambda x, spec: reshard(x, spec),
        lambda x, spec: olympus.device_put(x, spec),
        lambda x, spec: olympus.jit(lambda x: x, out_shardings=spec)(x),
    ],
    ids=["reshard", "device_put", "jit"],
)
def test_unreduced_terms_sum_to_the_value(move, spec):
    x = move(olympus.device_put(X, spec), P(unreduced={"x"}))
    assert x.sharding.spec.unreduced == {"x"}
    np.testing.assert_array_equal(sum(terms(x)), X)
    np.testing.assert_array_equal(reshard(x, P()), X)
    np.testing.assert_array_equal(olympus.device_put(x, P("x")), X)


def test_derivatives_of_reduced_values_are_unreduced():
    x = olympus.device_put(X, P(reduced={"x"}))
    programs = {
        "square": (lambda x: jnp.sum(x * x), 2 * X),
        "scaled": (lambda x: jnp.sum(x * 2), np.full(8, 2.0)),
        "again": (lambda x: jnp.sum(olympus.checkpoint(lambda y: y)(x)), np.ones(8)),
        "chosen": (lambda x: jnp.sum(lax.select(x == x, x, x)), np.ones(8)),
        "half": (lambda x: jnp.sum(lax.split(x, (4, 4))[0]), np.repeat([1.0, 0.0], 4)),
        "spread": (
            lambda x: jnp.sum(lax.broadcast_in_dim(x, (2, 8), (1,), out_sharding=P("x"))),
            np.full(8, 2.0),
        ),
    }
    for name, (fun, expected) in programs.items():
        gradient = olympus.jit(olympus.grad(fun))(x)
        assert gradient.sharding.spec.unreduced == {"x"}, name
        np.testing.assert_allclose(sum(terms(gradient)), expected, err_msg=name)


def test_gradient_of_indexing_a_reduced_table():
    table = olympus.device_put(np.ones((4, 2), np.float32), P(reduced={"x"}))
    ids = olympus.device_put(np.array([0, 2, 2, 3]), P("x"))
    lookup = olympus.grad(lambda t: jnp.sum(t.at[ids].get(out_sharding=P("x", None))))
    gradient = olympus.jit(lookup)(table)
    np.testing.assert_array_equal(sum(terms(gradient))[:, 0], [1, 0, 2, 1])


def test_einsum_of_one_operand_can_stay_unreduced():
    x = olympus.device_put(X.reshape(4, 2), P("x"))
    summed = olympus.jit(lambda x: jnp.einsum("ab->b", x, out_sharding=P(unreduced={"x"})))
    np.testing.assert_array_equal(np.stack(terms(summed(x))), X.reshape(2, 2, 2).sum(1))
    assert "all-reduce" not in summed.lower(x).compile().as_text()


def test_unreduced_arrays_do_not_show_values():
    x = reshard(jnp.asarray(X), P(unreduced={"x"}))
    assert repr(x).startswith("Array(shape=(8,), dtype=float32, sharding=NamedSharding(")
    assert str(x) == f"{x}" == repr(x)
    with pytest.raises(NotImplementedError, match="doesn't work with unreduced"):
        np.asarray(x)


def test_bincount_and_segment_sum_are_replicated_or_unreduced():
    x = olympus.device_put(np.array([0, 1, 1, 3]), P("x"))
    counts = jnp.bincount(x, length=4, out_sharding=P(unreduced={"x"}))
    np.testing.assert_array_equal(sum(terms(counts)), [1, 2, 0, 1])
    with pytest.raises(ShardingTypeError, match="only be fully replicated or fully unreduced"):
        jnp.bincount(x, length=4, out_sharding=P("x"))
    with pytest.raises(NotImplementedError, match="unreduced for max is not yet supported"):
        olympus.ops.segment_max(x, x, num_segments=4, out_sharding=P(unreduced={"x"}))


def test_cumsum_and_repeat_of_sharded_arrays_raise():
    x = olympus.device_put(X.reshape(4, 2), P("x"))
    with pytest.raises(ShardingTypeError, match="The input should be fully replicated"):
        jnp.cumsum(x)
    with pytest.raises(ValueError, match="via `out_sharding`"):
        jnp.repeat(x, 2, axis=0)
    with pytest.raises(ValueError, match="Incompatible types for broadcasting"):
        jnp.broadcast_to(x, (3, 4, 2), out_sharding=P(None, None, "x"))


def test_repeat_of_numpy_arrays():
    assert isinstance(jnp.repeat(np.eye(3), np.ones(3, int), axis=0), olympus.Array)


def test_broadcast_like_takes_sharding_of_other_array():
    like = olympus.device_put(X.reshape(4, 2), P("x"))
    assert lax.broadcast_like(np.ones(2, np.float32), like).sharding.spec == P("x", None)


def test_result_sharding_over_other_devices_raises():
    sharding = olympus.NamedSharding(olympus.make_mesh((2,), ("y",)), P("y"))
    with olympus.set_mesh(None), pytest.raises(ValueError, match="Length of device assignment 1"):
        olympus.jit(
            lambda: olympus.random.normal(olympus.random.key(0), (8,), out_sharding=sharding)
        )()


def test_flag_removes_axes_of_size_one():
    with olympus.set_mesh(olympus.make_mesh((2, 1), ("x", "y"))):
        x = olympus.device_put(X.reshape(4, 2), P(("x", "y"), None))
        with olympus.remove_size_one_mesh_axis_from_type(True):
            assert str(olympus.typeof(jnp.sin(x))) == "float32[4@x,2]"
