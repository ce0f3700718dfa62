# SPDX-License-Identifier: Apache-2.0
"""Assembly of arrays from shards."""

import numpy as np
import pytest

from olympus_sharding import IndivisibleError, Mesh, NamedSharding, SingleDeviceSharding
from olympus_sharding import PartitionSpec as P
from olympus_xla import (
    device_put,
    devices,
    make_array_from_callback,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
)

WHOLE = np.arange(32.0, dtype=np.float32).reshape(8, 4)


@pytest.mark.parametrize("spec", [P(), P("x"), P("x", "y"), P(None, ("y", "x"))])
def test_callbacks_are_asked_for_each_shard(mesh, spec):
    sharding = NamedSharding(mesh, spec)
    asked = []
    array = make_array_from_callback((8, 4), sharding, lambda i: asked.append(i) or WHOLE[i])
    assert asked == list(sharding.devices_indices_map((8, 4)).values())
    np.testing.assert_array_equal(np.asarray(array), WHOLE)
    assert array.sharding == sharding
    assert array.committed


def test_from_callback_of_numbers_and_arrays(mesh):
    scalar = make_array_from_callback((), NamedSharding(mesh, P()), lambda index: 3.0)
    assert repr(scalar) == "Array(3., dtype=float32)"
    part = device_put(np.arange(4.0))
    array = make_array_from_callback([8], NamedSharding(mesh, P("x")), lambda index: part)
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0] * 2


@pytest.mark.parametrize("spec", [P(), P("x"), P("x", "y")])
def test_from_single_device_arrays(mesh, spec):
    sharding = NamedSharding(mesh, spec)
    parts = [shard.data for shard in device_put(WHOLE, sharding).addressable_shards]
    for order in (parts, parts[::-1]):
        array = make_array_from_single_device_arrays((8, 4), sharding, order, dtype=np.float32)
        np.testing.assert_array_equal(np.asarray(array), WHOLE)
        for shard, part in zip(array.addressable_shards, parts, strict=True):
            assert shard.data.unsafe_buffer_pointer() == part.unsafe_buffer_pointer()


@pytest.mark.parametrize("spec", [P(), P("x"), P("x", "y")])
def test_from_process_local_data(mesh, spec):
    sharding = NamedSharding(mesh, spec)
    for shape in (None, (8, 4)):
        array = make_array_from_process_local_data(sharding, WHOLE, shape)
        np.testing.assert_array_equal(np.asarray(array), WHOLE)
    tree = make_array_from_process_local_data(sharding, {"a": WHOLE}, {"a": (8, 4)})
    assert tree["a"].sharding == sharding
    assert make_array_from_process_local_data(sharding, {"a": WHOLE})["a"].shape == (8, 4)


def parts_of(mesh):
    sharding = NamedSharding(mesh, P("x"))
    return sharding, [s.data for s in device_put(WHOLE, sharding).addressable_shards]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s, p: ((8, 4), s, p[:3]), ValueError, "Expected 4 per-device arrays"),
        (lambda s, p: ((8, 4), s, [p[0]] * 4), ValueError, "must be from distinct devices"),
        (lambda s, p: ((8, 4), s, []), ValueError, "no addressable shards, `dtype` must be"),
        (lambda s, p: ((8, 4), s, WHOLE), TypeError, "must be a list or tuple"),
        (lambda s, p: ((8, 4), s, [WHOLE] * 4), TypeError, "takes arrays on devices"),
        (
            lambda s, p: ((8, 4), s, [device_put(WHOLE, s)] * 4),
            ValueError,
            r"one shard each. An argument array had 4",
        ),
        (lambda s, p: ((7, 4), s, p), IndivisibleError, "dimension size is 7"),
        (lambda s, p: ((4, 4), s, p), ValueError, r"Expected shard shape \(2, 4\)"),
        (
            lambda s, p: ((8, 4), s, [*p[:3], device_put(np.ones((4, 4), int), devices()[3])]),
            ValueError,
            "must have matching dtypes",
        ),
        (lambda s, p: ((8, 4), "cpu", p), TypeError, "sharding should be an instance"),
    ],
)
def test_mismatched_shards_raise(mesh, call, error, message):
    with pytest.raises(error, match=message):
        make_array_from_single_device_arrays(*call(*parts_of(mesh)))


def test_shards_on_other_devices_raise():
    sharding = NamedSharding(Mesh(devices()[:2], ("x",)), P("x"))
    parts = [device_put(WHOLE[:4], devices()[0]), device_put(WHOLE[4:], devices()[3])]
    message = (
        r"devices \{1\} that are not present in per-device arrays.* devices \{3\} that are not"
    )
    with pytest.raises(ValueError, match=message):
        make_array_from_single_device_arrays((8, 4), sharding, parts)


def test_mismatched_dtype_and_shape_raise(mesh):
    sharding, parts = parts_of(mesh)
    with pytest.raises(ValueError, match="it must match the dtype"):
        make_array_from_single_device_arrays((8, 4), sharding, parts, dtype=np.int32)
    with pytest.raises(
        ValueError, match=r"global_shape should be None or equal to local_data.shape"
    ):
        make_array_from_process_local_data(sharding, WHOLE, (16, 4))
    with pytest.raises(TypeError, match="not a valid OLYMPUS type"):
        make_array_from_callback((8,), sharding, lambda index: [1.0] * 4)


def test_on_one_device(devices):
    sharding = SingleDeviceSharding(devices[0])
    array = make_array_from_single_device_arrays((8, 4), sharding, [device_put(WHOLE)])
    np.testing.assert_array_equal(np.asarray(array), WHOLE)
