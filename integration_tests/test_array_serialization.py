# SPDX-License-Identifier: Apache-2.0
"""Arrays in files: specs, tree structures and, with tensorstore, writing and reading."""

from __future__ import annotations

import asyncio
import base64
import collections
import json
import sys

import ml_dtypes
import numpy as np
import pytest

import olympus
from olympus.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding
from olympus_export.array_serialization.specs import (
    get_tensorstore_spec,
    is_remote_storage,
    merge_nested_ts_specs,
    verify_tensorstore_spec,
)
from olympus_export.array_serialization.stores import async_serialize
from olympus_export.array_serialization.trees import tree_from_bytes, tree_to_bytes
from olympus_ir.trees import pytrees

# ---- specs: what JAX 0.10.2 gives ----


@pytest.mark.parametrize(
    ("path", "options", "kvstore"),
    [
        ("/tmp/a/b", {"ocdbt": False}, {"driver": "file", "path": "/tmp/a/b"}),
        (
            "/tmp/a/b",
            {},
            {"driver": "ocdbt", "base": {"driver": "file", "path": "/tmp/a"}, "path": "b"},
        ),
        (
            "/tmp/a/b",
            {"process_idx": 3},
            {
                "driver": "ocdbt",
                "base": {"driver": "file", "path": "/tmp/a/process_3"},
                "path": "b",
            },
        ),
        ("gs://buck/a/b", {"ocdbt": False}, {"driver": "gcs", "bucket": "buck", "path": "a/b"}),
        (
            "s3://buck/a/b",
            {},
            {
                "driver": "ocdbt",
                "base": {"driver": "s3", "bucket": "buck", "path": "a"},
                "path": "b",
            },
        ),
    ],
)
def test_specs_name_the_driver_and_the_store(path, options, kvstore):
    assert get_tensorstore_spec(path, **options) == {"driver": "zarr3", "kvstore": kvstore}


def test_metadata_describe_chunks_and_codecs():
    array = np.zeros((4, 2), np.float32)
    zarr3 = get_tensorstore_spec("/tmp/a/b", arr=array)["metadata"]
    assert zarr3 == {
        "codecs": [],
        "shape": (4, 2),
        "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 2]}},
    }
    zarr = get_tensorstore_spec("/tmp/a/b", arr=array, driver="zarr")["metadata"]
    assert zarr == {"compressor": {"id": "zstd"}, "shape": (4, 2), "chunks": [4, 2]}


def test_chunk_size_is_bounded():
    array = olympus.ShapeDtypeStruct((100000, 100003), np.float32)
    grid = get_tensorstore_spec("/tmp/a/b", arr=array)["metadata"]["chunk_grid"]
    chunk = grid["configuration"]["chunk_shape"]
    assert 4 * np.prod(chunk, dtype=float) <= 2 << 30
    assert all(size % part == 0 for size, part in zip(array.shape, chunk, strict=True))


def test_invalid_paths_raise():
    with pytest.raises(ValueError, match="requires the bucket name"):
        get_tensorstore_spec("gs://a/b")
    with pytest.raises(ValueError, match="should be absolute"):
        get_tensorstore_spec("a/b")


def test_addresses_of_buckets_are_remote_storage():
    assert is_remote_storage("gs://a") and is_remote_storage({"kvstore": {"driver": "gcs"}})
    assert is_remote_storage({"kvstore": {"driver": "ocdbt", "base": "s3://a"}})
    assert not is_remote_storage("/tmp") and not is_remote_storage({"kvstore": {"driver": "file"}})


def test_merged_and_verified_specs():
    spec = get_tensorstore_spec("/tmp/a/b", arr=np.zeros((4, 2)))
    merged = merge_nested_ts_specs(spec, {"metadata": {"codecs": ["zstd"]}})
    assert merged["metadata"]["codecs"] == ["zstd"] and merged["metadata"]["shape"] == (4, 2)
    verify_tensorstore_spec(spec, np.zeros((4, 2)), "/tmp/a/b", True)
    with pytest.raises(ValueError, match="of shape"):
        verify_tensorstore_spec(spec, np.zeros((4, 3)), "/tmp/a/b", True)
    with pytest.raises(ValueError, match="must not be of a database"):
        verify_tensorstore_spec(spec, None, "/tmp/a/b", False)


# ---- structures ----

# {"a": 0, "b": [0, 0, {"c": 0}]} as JAX 0.10.2 writes it.
WRITTEN_BY_JAX = (
    "BAAAAKL///8MAAAAJAAAAAAAAAQCAAAAEAAAAAQAAAABAAAAYgAAAAEAAABhAAAAAgAAAHAAAAAMAAAACAAMAAsABAAI"
    "AAAACAAAAAAAAAMDAAAASAAAAEAAAAAQAAAAAAAKABAADwAIAAQACgAAAAwAAAAYAAAAAAAABAEAAAAEAAAAAQAAAGMA"
    "AAABAAAABAAAAPT////4/////P///wQABAAEAAAA"
)


def test_structure_written_by_jax():
    found = tree_from_bytes(base64.b64decode(WRITTEN_BY_JAX))
    assert found == pytrees.tree_structure({"a": 0, "b": [0, 0, {"c": 0}]})


@pytest.mark.parametrize(
    "tree",
    [
        0,
        None,
        (),
        {},
        {"a": (1, [2, None]), "b": {"key": 3}},
        collections.OrderedDict(z=1, a=2),
        collections.OrderedDict(),
    ],
    ids=str,
)
def test_tree_structures_round_trip(tree):
    structure = pytrees.tree_structure(tree)
    assert tree_from_bytes(tree_to_bytes(structure)) == structure


def test_structures_of_unknown_types():
    point = collections.namedtuple("point", "x y")
    with pytest.raises(ValueError, match="unregistered type"):
        tree_to_bytes(pytrees.tree_structure(point(1, 2)))


# ---- files ----


@pytest.fixture
def stores():
    from olympus.experimental.array_serialization import (  # needs tensorstore
        pytree_serialization,
        serialization,
        tensorstore_impl,
    )

    return pytree_serialization, serialization, tensorstore_impl


def shardings():
    mesh = Mesh(np.array(olympus.devices()), ("x",))
    return NamedSharding(mesh, PartitionSpec("x")), SingleDeviceSharding(olympus.devices()[0])


def some_array():
    split, _ = shardings()
    size = 2 * len(olympus.devices())
    return olympus.device_put(np.arange(2.0 * size, dtype=np.float32).reshape(size, 2), split)


def test_process_local_arrays_raise(monkeypatch):
    monkeypatch.setattr("olympus_xla.platforms.backends.process_count", lambda: 2)
    with pytest.raises(ValueError, match="Replicate it over all devices"):
        asyncio.run(async_serialize(some_array(), get_tensorstore_spec("/tmp/a")))


def test_missing_tensorstore_is_reported(monkeypatch):
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, "tensorstore", None)
    with pytest.raises(ImportError, match="pip install tensorstore"):
        asyncio.run(async_serialize(some_array(), get_tensorstore_spec("/tmp/a")))


def test_manager_writes_and_reads_several_arrays(stores, tmp_path):
    _, serialization, _ = stores
    split, single = shardings()
    array, committed = some_array(), []
    paths = [str(tmp_path / name) for name in "ab"]
    manager = serialization.GlobalAsyncCheckpointManager()
    manager.serialize_with_paths(
        [array, array + 1], paths, on_commit_callback=lambda: committed.append(True)
    )
    manager.wait_until_finished()
    assert committed == [True]
    metadata = json.loads((tmp_path / "a" / ".zarray").read_text())
    assert metadata["shape"] == list(array.shape) and metadata["dtype"] == "<f4"
    first, second = manager.deserialize_with_paths([split, single], paths)
    np.testing.assert_array_equal(first, array)
    np.testing.assert_array_equal(second, array + 1)
    assert first.sharding == split and second.sharding == single


def test_load_with_another_shape_or_dtype(stores, tmp_path):
    _, serialization, _ = stores
    _, single = shardings()
    array = olympus.numpy.arange(6.0).reshape(3, 2)
    path = str(tmp_path / "a")
    manager = serialization.GlobalAsyncCheckpointManager()
    manager.serialize_with_paths([array], [path])
    (larger,) = manager.deserialize_with_paths([single], [path], global_shapes=[(4, 1)])
    np.testing.assert_array_equal(larger, [[0], [2], [4], [0]])
    (short,) = manager.deserialize_with_paths([single], [path], dtypes=[ml_dtypes.bfloat16])
    assert short.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(short, array)


def test_background_errors_are_reraised(stores, tmp_path):
    _, serialization, _ = stores
    manager = serialization.GlobalAsyncCheckpointManager()

    def fail():
        raise RuntimeError("no more room")

    manager.serialize_with_paths([some_array()], [str(tmp_path / "a")], on_commit_callback=fail)
    with pytest.raises(RuntimeError, match="no more room"):
        manager.wait_until_finished()
    with pytest.raises(ValueError, match="does not exist"):
        manager.deserialize_with_paths([shardings()[1]], [str(tmp_path / "none")])


def tree():
    return {
        "a": some_array(),
        "b": [olympus.numpy.arange(3), None, {"c": olympus.numpy.ones(2, ml_dtypes.bfloat16)}],
    }


def test_pytrees_are_restored_with_types_and_shardings(stores, tmp_path):
    pytree, _, _ = stores
    split, single = shardings()
    data = tree()
    pytree.save(data, tmp_path / "data")
    types = pytree.load_pytreedef(tmp_path / "data")
    assert types["a"] == olympus.ShapeDtypeStruct(data["a"].shape, np.float32)
    assert types["b"][1] is None and types["b"][2]["c"].dtype == ml_dtypes.bfloat16
    found = pytree.load(tmp_path / "data", single)
    assert pytrees.tree_structure(found) == pytrees.tree_structure(data)
    olympus.tree.map(np.testing.assert_array_equal, found, data)
    found = pytree.load(tmp_path / "data", {"a": split, "b": single})
    assert found["a"].sharding == split


def test_load_part_of_a_pytree(stores, tmp_path):
    pytree, _, _ = stores
    _, single = shardings()
    pytree.save(tree(), tmp_path / "data")
    found = pytree.load(tmp_path / "data", single, mask={"a": True, "b": False})
    assert found["b"] == [None, None, {"c": None}] and found["a"] is not None
    mask = {"a": False, "b": [False, True, {"c": True}]}
    found = pytree.load(tmp_path / "data", single, mask=mask)
    assert found["a"] is None and found["b"][2]["c"].shape == (2,)


def test_load_with_requested_types(stores, tmp_path):
    pytree, _, _ = stores
    _, single = shardings()
    pytree.save({"x": olympus.numpy.arange(3)}, tmp_path / "data")
    wanted = {"x": olympus.ShapeDtypeStruct((3,), np.float32, sharding=single)}
    found = pytree.load(tmp_path / "data", wanted)
    assert found["x"].dtype == np.float32
    with pytest.raises(TypeError, match="should be specified, concrete"):
        pytree.load(tmp_path / "data", {"x": "cpu"})


def test_background_save_and_load(stores, tmp_path):
    pytree, _, _ = stores
    data = tree()
    future = pytree.nonblocking_save(data, tmp_path / "data")
    assert future.pytree["a"].shape == data["a"].shape and future.result() is None
    loading = pytree.nonblocking_load(tmp_path / "data", shardings()[1])

    async def waiting():
        return await loading

    olympus.tree.map(np.testing.assert_array_equal, asyncio.run(waiting()), data)


def test_overwriting_replaces_the_whole_tree(stores, tmp_path):
    pytree, _, _ = stores
    pytree.save({"x": olympus.numpy.arange(3)}, tmp_path / "data")
    pytree.save({"y": olympus.numpy.arange(4)}, tmp_path / "data")
    assert list(pytree.load_pytreedef(tmp_path / "data")) == ["y"]
    with pytest.raises(ValueError, match="overwrite=False"):
        pytree.save({"y": olympus.numpy.arange(4)}, tmp_path / "data", overwrite=False)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    with pytest.raises(ValueError, match="not one that `save` wrote"):
        pytree.save({"y": olympus.numpy.arange(4)}, tmp_path / "mine")


@pytest.mark.parametrize("leaf", [1.5, "text"])
def test_non_array_leaves_raise(stores, tmp_path, leaf):
    pytree, _, _ = stores
    with pytest.raises(ValueError, match="all leaves must be either None"):
        pytree.save({"x": leaf}, tmp_path / "data")
    with pytest.raises(TypeError, match="cannot be saved"):
        pytree.save({"x": olympus.random.key(0)}, tmp_path / "data")


def test_user_defined_tensorstore_specs(stores, tmp_path):
    pytree, _, _ = stores
    _, single = shardings()
    codecs = [{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 3}}]
    pytree.save(
        {"x": olympus.numpy.zeros(100000)},
        tmp_path / "data",
        ts_specs={"x": {"driver": "zarr3", "metadata": {"codecs": codecs}}},
    )
    np.testing.assert_array_equal(pytree.load(tmp_path / "data", single)["x"], np.zeros(100000))
    written = sum(file.stat().st_size for file in (tmp_path / "data").rglob("*"))
    assert written < 50_000  # of 400 000 bytes


def test_pytrees_inside_event_loop(tmp_path):
    pytest.importorskip("tensorstore")
    from olympus.experimental.array_serialization import pytree_serialization

    async def in_a_notebook():
        with olympus.enable_x64(True):
            numbers = {"a": olympus.numpy.arange(3.0)}
            pytree_serialization.save(numbers, tmp_path / "numbers")
            sharding = SingleDeviceSharding(olympus.devices()[0])
            return pytree_serialization.load(tmp_path / "numbers", sharding)

    (read,) = asyncio.run(in_a_notebook()).values()
    assert read.dtype == np.float64
    assert read.tolist() == [0, 1, 2]
