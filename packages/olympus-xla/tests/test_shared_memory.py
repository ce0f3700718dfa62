# SPDX-License-Identifier: Apache-2.0
"""Deletion of arrays whose memory other arrays share: no later use may end the process."""

import numpy as np
import pytest

from olympus_ir import lax
from olympus_sharding import Mesh, NamedSharding
from olympus_sharding import PartitionSpec as P
from olympus_xla import device_put, jit, make_array_from_single_device_arrays

WHOLE = np.arange(32.0, dtype=np.float32).reshape(8, 4)

pytestmark = pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")


@jit
def negated(x):
    return lax.neg(x)


def warm(array):
    """Calls a function until C++ calls it alone; returns the array."""
    for _ in range(3):
        negated(array).block_until_ready()
    return array


def assert_lost(array):
    assert array.is_deleted()
    with pytest.raises(RuntimeError, match="Array has been deleted with shape"):
        negated(array)


def assembled(array):
    """Returns an array that is made of another's parts."""
    parts = [shard.data for shard in array.addressable_shards]
    return make_array_from_single_device_arrays(array.shape, array.sharding, parts)


def delete(part):
    part.delete()


def donate_to_call(part):
    jit(lax.neg, donate_argnums=0)(part)


def donate_to_warm_call(part):
    consumed = jit(lax.neg, donate_argnums=0)
    for _ in range(3):
        consumed(lax.add(part, np.float32(1)))
    consumed(part)


def donate_to_alias(part):
    (device,) = part.devices()
    mesh = Mesh(np.array([device]), ("other",))
    device_put(part, NamedSharding(mesh, P()), donate=True).delete()


@pytest.fixture(params=[P(), P("x"), P("x", "y")], ids=str)
def sharding(mesh, request):
    return NamedSharding(mesh, request.param)


@pytest.mark.parametrize("position", [0, 3])
@pytest.mark.parametrize("lose", [delete, donate_to_call, donate_to_warm_call, donate_to_alias])
def test_arrays_are_lost_with_a_part(sharding, lose, position):
    array = warm(device_put(WHOLE, sharding))
    lose(array.addressable_shards[position].data)
    assert_lost(array)


@pytest.mark.parametrize("position", [0, 3])
@pytest.mark.parametrize("lose", [delete, donate_to_call, donate_to_warm_call, donate_to_alias])
def test_arrays_are_lost_with_an_array_that_they_are_made_of(sharding, lose, position):
    parts = [shard.data for shard in device_put(WHOLE, sharding).addressable_shards]
    array = warm(make_array_from_single_device_arrays((8, 4), sharding, parts))
    lose(parts[position])
    assert_lost(array)


def test_addressable_data_is_a_part(sharding):
    array = warm(device_put(WHOLE, sharding))
    array.addressable_data(2).delete()
    assert_lost(array)


def clone(array):
    return array.clone()


def with_other_names(array):
    """Returns the array with an equivalent sharding."""
    mesh = Mesh(array.sharding.mesh.devices, ("a", "b"))
    names = {"x": "a", "y": "b", None: None}
    spec = P(*(names[name] for name in array.sharding.spec))
    return device_put(array, NamedSharding(mesh, spec))


@pytest.mark.parametrize("alias", [assembled, clone, with_other_names])
def test_arrays_in_the_same_memory_are_lost_together(sharding, alias):
    for first in (0, 1):
        arrays = [warm(device_put(WHOLE, sharding))]
        arrays.append(warm(alias(arrays[0])))
        arrays.append(warm(assembled(arrays[1])))
        arrays[first].delete()
        for array in arrays:
            assert_lost(array)


def test_donated_arrays_take_aliases_along(sharding):
    array = warm(device_put(WHOLE, sharding))
    alias = warm(assembled(array))
    jit(lax.neg, donate_argnums=0)(array)
    assert_lost(alias)


def test_arrays_that_share_one_part_are_lost_with_it(mesh):
    sharding = NamedSharding(mesh, P("x", "y"))
    first, second = (device_put(WHOLE, sharding) for _ in range(2))
    parts = [shard.data for shard in first.addressable_shards]
    others = [shard.data for shard in second.addressable_shards]
    mixed = warm(make_array_from_single_device_arrays((8, 4), sharding, [*parts[:1], *others[1:]]))
    first.delete()
    assert_lost(mixed)


def test_copies_outlive_the_original(sharding):
    array = device_put(WHOLE, sharding)
    copies = [device_put(array, sharding, may_alias=False), lax.add(array, np.float32(0))]
    array.delete()
    for copy in copies:
        np.testing.assert_array_equal(np.asarray(warm(copy)), WHOLE)


def test_references_to_aliases_do_not_accumulate(sharding):
    array = device_put(WHOLE, sharding)
    for _ in range(100):
        assembled(array)
    (owners, *_) = array.__dict__["_owners_of_parts"]
    assert len(owners) <= 2
