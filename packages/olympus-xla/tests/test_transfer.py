# SPDX-License-Identifier: Apache-2.0
"""Moving data to, from and between devices."""

import numpy as np
import pytest

from olympus_autodiff import value_and_grad
from olympus_ir.programs.jit import jit
from olympus_ir.settings import config
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.dtypes import float0
from olympus_sharding import (
    AxisType,
    IndivisibleError,
    Mesh,
    NamedSharding,
    SingleDeviceSharding,
    set_mesh,
)
from olympus_sharding import PartitionSpec as P
from olympus_xla import block_until_ready, copy_to_host_async, device_get, device_put
from olympus_xla.arrays.array import ArrayImpl
from olympus_xla.arrays.layouts import Format, Layout
from olympus_xla.arrays.transfer import array_from_host, copy_array, put_handlers, put_leaf


@pytest.mark.parametrize(
    ("value", "dtype", "weak"),
    [
        (1, "int32", True),
        (1.5, "float32", True),
        (1j, "complex64", True),
        (True, "bool", False),
        (np.float64(1.5), "float32", False),
        (np.int64(3), "int32", False),
        (np.arange(3), "int32", False),
        (np.arange(3.0), "float32", False),
        (np.ones(2, np.complex128), "complex64", False),
        (np.ones(2, np.float16), "float16", False),
        (np.zeros((2, 0)), "float32", False),
    ],
)
def test_types_of_host_values(value, dtype, weak):
    array = device_put(value)
    assert array.aval is ShapedArray(np.shape(value), dtype, weak)
    np.testing.assert_array_equal(np.asarray(array), np.asarray(value, dtype))
    assert np.asarray(array).dtype == dtype


def test_wide_types_are_kept_where_enabled():
    with config.enable_x64(True):
        assert device_put(np.arange(3)).dtype == np.int64
        assert np.asarray(device_put(np.ones(2, np.complex128))).dtype == np.complex128
        assert device_put(1.5).aval is ShapedArray((), np.float64, True)


def test_floats_overflow_to_infinity_and_integers_raise():
    assert np.isinf(float(device_put(1e300)))
    with pytest.raises(OverflowError, match="too large to convert to int32"):
        device_put(1 << 31)


@pytest.mark.parametrize("shape", [(1,), (16,), (1024,), (64, 64), (3, 5)])
def test_numpy_arrays_can_be_written_to_afterwards(shape, mesh, devices):
    aligned = np.zeros(2**17, np.uint8)
    start = -aligned.ctypes.data % 64
    size = int(np.prod(shape)) * 4
    host = aligned[start : start + size].view(np.float32).reshape(shape)
    places = [None, devices[1], NamedSharding(mesh, P())]
    if shape[0] % 2 == 0:
        places.append(NamedSharding(mesh, P("x")))
    for place in places:
        host[...] = 1
        array = device_put(host, place)
        host[...] = 2
        np.testing.assert_array_equal(np.asarray(array), np.ones(shape))


def test_strided_arrays_are_copied(mesh):
    host = np.arange(64.0, dtype=np.float32).reshape(8, 8)
    for view in (host.T, host[::2], host[:, ::-1], np.broadcast_to(host[0], (4, 8))):
        np.testing.assert_array_equal(np.asarray(device_put(view)), view)
        sharded = device_put(view, NamedSharding(mesh, P("x", "y")))
        np.testing.assert_array_equal(np.asarray(sharded), view)


def test_memory_is_shared_only_on_request(devices):
    buffer = np.zeros(4096, np.uint8)
    start = -buffer.ctypes.data % 64
    host = buffer[start : start + 256].view(np.float32)
    array = device_put(host, may_alias=True)
    assert array.unsafe_buffer_pointer() == host.ctypes.data
    assert device_put(host).unsafe_buffer_pointer() != host.ctypes.data


def test_arrays_keep_their_device(devices):
    array = device_put(1.0)
    assert device_put(array) is array
    committed = device_put(array, devices[0])
    assert committed.committed
    assert not array.committed
    assert committed.unsafe_buffer_pointer() == array.unsafe_buffer_pointer()
    assert device_put(committed, devices[0]) is committed
    copied = device_put(array, may_alias=False)
    assert copied.unsafe_buffer_pointer() != array.unsafe_buffer_pointer()
    assert not copied.committed
    assert copied.weak_type


def test_moving_between_devices(devices):
    array = device_put(np.arange(3.0))
    moved = device_put(array, devices[1])
    assert moved.devices() == {devices[1]}
    assert moved.committed
    assert moved.aval is array.aval
    assert array.to_device(devices[2]).devices() == {devices[2]}
    pinned = device_put(array, SingleDeviceSharding(devices[0], memory_kind="pinned_host"))
    assert pinned.sharding.memory_kind == "pinned_host"
    np.testing.assert_array_equal(np.asarray(pinned), np.arange(3.0))
    with pytest.raises(NotImplementedError, match="stream"):
        array.to_device(devices[1], stream=1)


SPECS = [P(), P("x"), P("y"), P(None, "x"), P("x", "y"), P("y", "x"), P(("x", "y")), P(("y", "x"))]


@pytest.mark.parametrize("target", SPECS)
@pytest.mark.parametrize("source", SPECS)
def test_resharding_keeps_the_elements(mesh, source, target):
    host = np.arange(32.0, dtype=np.float32).reshape(8, 4)
    array = device_put(device_put(host, NamedSharding(mesh, source)), NamedSharding(mesh, target))
    assert array.sharding == NamedSharding(mesh, target)
    np.testing.assert_array_equal(np.asarray(array), host)
    for shard in array.addressable_shards:
        np.testing.assert_array_equal(np.asarray(shard.data), host[shard.index])


def test_resharding_over_other_devices(mesh, devices):
    host = np.arange(32.0, dtype=np.float32).reshape(8, 4)
    array = device_put(host, NamedSharding(mesh, P("x")))
    reverse = Mesh(mesh.devices[::-1, ::-1], ("x", "y"))
    pair = Mesh(devices[:2], ("z",))
    for sharding in (
        NamedSharding(reverse, P("x")),
        NamedSharding(reverse, P("y", "x")),
        NamedSharding(pair, P("z")),
        SingleDeviceSharding(devices[3]),
        NamedSharding(mesh, P("x"), memory_kind="pinned_host"),
    ):
        moved = device_put(array, sharding)
        assert moved.sharding == sharding
        for shard in moved.addressable_shards:
            assert shard.data.devices() == {shard.device}
            np.testing.assert_array_equal(np.asarray(shard.data), host[shard.index])


def test_donated_arrays_are_moved(devices, mesh):
    array = device_put(np.arange(4.0), devices[0])
    moved = device_put(array, devices[1], donate=True)
    np.testing.assert_array_equal(np.asarray(moved), np.arange(4.0))
    array = device_put(np.arange(4.0), devices[0])
    device_put(array, NamedSharding(mesh, P("x")), donate=True)
    assert array.is_deleted()
    with pytest.raises(ValueError, match="may_alias and donate cannot"):
        device_put(moved, donate=True, may_alias=True)


def test_trees_and_prefixes(devices):
    result = device_put({"a": 1, "b": [2, None]}, {"a": devices[1], "b": devices[2]})
    assert result["a"].devices() == {devices[1]}
    assert result["b"][0].devices() == {devices[2]}
    assert result["b"][1] is None
    first, second = device_put((1, 2), (devices[1], None))
    assert first.committed
    assert not second.committed
    assert device_put(None) is None
    assert device_put([], devices[0]) == []
    with pytest.raises(ValueError, match="device_put device"):
        device_put(1, (devices[0], devices[1]))


def test_partition_specs_use_the_context_mesh(mesh):
    with set_mesh(mesh):
        array = device_put(np.arange(4.0), P("x"))
    assert array.sharding == NamedSharding(mesh, P("x"))
    with pytest.raises(ValueError, match=r"set a mesh via `olympus\.set_mesh`"):
        device_put(np.arange(4.0), P("x"))


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("text", TypeError, "not a valid OLYMPUS type"),
        (object(), TypeError, "not a valid OLYMPUS type"),
        (np.array(["a"]), TypeError, "<U1"),
        (np.array([], object), TypeError, "object"),
        (np.array(1.0, ">f4"), TypeError, ">f4"),
        (np.ma.array([1, 2], mask=[0, 1]), ValueError, "masked arrays are not supported"),
    ],
)
def test_non_array_values_raise(value, error, message):
    with pytest.raises(error, match=message):
        device_put(value)


def test_invalid_destinations_raise(mesh):
    for place in ("cpu", 2):
        with pytest.raises(ValueError, match="only accepts `None`"):
            device_put(1.0, place)
    with pytest.raises(ValueError, match="has no devices"):
        device_put(1.0, NamedSharding(mesh.abstract_mesh, P()))
    with pytest.raises(IndivisibleError):
        device_put(np.arange(3.0), NamedSharding(mesh, P("x")))
    with pytest.raises(ValueError, match="rank at least 1"):
        device_put(1.0, NamedSharding(mesh, P("x")))
    with pytest.raises(ValueError, match="rank at least 1"):
        device_put(device_put(1.0), NamedSharding(mesh, P("x")))


def test_array_likes_are_converted():
    class Wrapper:
        def __jax_array__(self):
            return device_put(2.0)

    assert float(device_put(Wrapper())) == 2.0
    assert device_put(np.arange(2).view(np.recarray)).shape == (2,)


def test_registered_handlers_put_other_types(devices, monkeypatch):
    class Pair:
        def __init__(self, left, right):
            self.left, self.right = left, right

    def put(pair, place):
        return Pair(put_leaf(pair.left, place), put_leaf(pair.right, place))

    monkeypatch.setitem(put_handlers, Pair, put)
    pair = device_put(Pair(1, 2), devices[1])
    assert pair.right.devices() == {devices[1]}


def test_array_from_host():
    host = np.arange(3)
    array = array_from_host(host, ShapedArray((3,), np.float32))
    host[0] = 7
    assert array.tolist() == [0.0, 1.0, 2.0]
    assert not array.committed
    assert array_from_host(2, ShapedArray((), np.int8, True)).aval is ShapedArray((), np.int8, True)
    with pytest.raises(ValueError, match=r"shape \(3,\), got one of shape \(2,\)"):
        array_from_host([1, 2], ShapedArray((3,), np.float32))


def test_device_get_leaves_tracers_as_they_are():
    assert float(jit(lambda x: device_get({"a": x})["a"])(2.0)) == 2.0


def test_device_get_returns_numpy_arrays():
    array = device_put(np.arange(3.0))
    host = device_get({"a": array, "b": 3, "c": "text"})
    assert type(host["a"]) is np.ndarray
    assert host["a"].tolist() == [0.0, 1.0, 2.0]
    assert host["b"] == 3
    assert host["c"] == "text"


def test_block_until_ready():
    class Waits:
        waited = False

        def block_until_ready(self):
            self.waited = True

    tree = {"a": device_put(1.0), "b": [2, "text"], "c": Waits()}
    assert block_until_ready(tree) is tree
    assert tree["c"].waited
    array = device_put(1.0)
    assert block_until_ready(array) is array


def test_copy_to_host_async(mesh):
    tree = [device_put(1.0), device_put(np.arange(4.0), NamedSharding(mesh, P("x"))), "text"]
    assert copy_to_host_async(tree) is tree


def test_copy_keeps_everything_but_memory(mesh):
    explicit = mesh.update(axis_types=(AxisType.Explicit,) * 2)
    for place in (None, NamedSharding(explicit, P("x"))):
        array = device_put(np.arange(4.0), place)
        copied = copy_array(array)
        assert type(copied) is ArrayImpl
        assert copied.aval is array.aval
        assert copied.sharding == array.sharding
        assert copied.committed == array.committed
        assert copied.addressable_data(0).unsafe_buffer_pointer() != (
            array.addressable_data(0).unsafe_buffer_pointer()
        )


def test_formats_determine_sharding_and_layout(mesh):
    sharding = NamedSharding(mesh, P("x"))
    array = device_put(np.ones((4, 2), np.float32), Format(None, sharding))
    assert array.sharding == sharding
    assert array.format == Format(Layout((0, 1), ()), sharding)
    assert device_put(array, array.format) is array
    first = device_put(np.ones(3), Format())
    assert not first.committed and device_put(first, Format()) is first
    columns = device_put(array, Format(Layout((1, 0)), sharding))
    assert columns.format.layout.major_to_minor == (1, 0)
    np.testing.assert_array_equal(columns, array)
    with pytest.raises(ValueError, match="cannot choose a layout"):
        device_put(array, Format(Layout.AUTO, sharding))


def test_arrays_without_elements_stay_on_the_host():
    zeros = np.zeros(3, float0)
    assert device_put(zeros) is zeros


def test_cotangents_go_back_to_committed_arrays(devices):
    first, second = devices[:2]
    for start, committed in ((device_put(np.float32(2), first), True), (np.float32(2), False)):
        value, gradient = value_and_grad(lambda x: device_put(x, second))(start)
        assert value.devices() == {second} and value._committed
        assert gradient.devices() == {first} and gradient._committed is committed
