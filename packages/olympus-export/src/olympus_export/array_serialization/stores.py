# SPDX-License-Identifier: Apache-2.0
"""Writing and reading of arrays with TensorStore. Shards are written and read concurrently."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import numpy as np

from olympus_ir.settings.config_states import enable_x64
from olympus_ir.types import dtypes
from olympus_sharding.shardings.behavior import Sharding
from olympus_xla.arrays.assembly import make_array_from_single_device_arrays
from olympus_xla.arrays.layouts import Format
from olympus_xla.arrays.transfer import device_put
from olympus_xla.platforms import backends

from ._tensorstore import ts
from .specs import chunk_metadata, merge_nested_ts_specs

__all__ = [
    "ByteLimiter",
    "async_deserialize",
    "async_serialize",
    "combine_kvstores",
    "gather_all",
    "run_deserialization",
    "run_serialization",
    "shared_context",
    "wait_for",
]

Result = TypeVar("Result")


def wait_for(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Runs a coroutine to its end, even if this thread runs an event loop, as in notebooks."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    wide = enable_x64.value

    def run() -> Result:
        with enable_x64(wide):  # settings belong to a thread
            return asyncio.run(coroutine)

    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        return threads.submit(run).result()


@functools.cache
def shared_context() -> Any:
    """Returns the TensorStore context of all reads and writes, which limits their concurrency."""
    return ts.Context(
        {
            "cache_pool": {"total_bytes_limit": 0},
            "data_copy_concurrency": {"limit": 128},
            "file_io_concurrency": {"limit": 128},
        }
    )


async def gather_all(*work: Any) -> list[Any]:
    """Awaits all awaitables and returns their results. Raises an error only after all have ended.

    The event loop must not close earlier: if TensorStore's threads report to a closed loop, the
    process dies.
    """
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


class ByteLimiter:
    """Limit on the number of bytes that are read at the same time.

    Args:
      limit: the number of bytes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = self._free = limit
        self._changed = asyncio.Condition()

    async def wait_for_bytes(self, requested_bytes: int) -> None:
        """Waits until the requested number of bytes is available, and reserves that number."""
        if requested_bytes >= self._limit:
            raise ValueError(
                f"Requested more bytes than we reserved space for: {requested_bytes} > "
                f"{self._limit}. Allow more with `concurrent_gb`."
            )
        async with self._changed:
            await self._changed.wait_for(lambda: self._free > requested_bytes)
            self._free -= requested_bytes

    async def release_bytes(self, requested_bytes: int) -> None:
        """Releases reserved bytes."""
        async with self._changed:
            self._free += requested_bytes
            self._changed.notify_all()


def _is_metadata_known(spec: Any) -> bool:
    return isinstance(spec, dict) and "metadata" in spec


def _check_shared(array: Any, spec: Any) -> None:
    """Raises ValueError if each of several processes would write its own array to the same file."""
    if backends.process_count() == 1 or not getattr(array, "is_fully_addressable", False):
        return
    place = spec.get("kvstore") if isinstance(spec, dict) else spec
    raise ValueError(
        "async_serialize: with several processes, arrays must be spread over the devices of all of "
        f"them, because all processes write to one file. Got an array over {array.sharding}, which "
        f"this process holds as a whole, for {place}. Replicate it over all devices first: "
        "olympus.device_put(array, NamedSharding(mesh, PartitionSpec()))."
    )


async def async_serialize(
    arr_inp: Any,
    tensorstore_spec: Any,
    commit_future: list[Any] | None = None,
    context: Any = None,
    chunk_layout: Any = None,
    primary_host: int | None = None,
    replica_id: int = 0,
    transaction: Any = None,
) -> None:
    """Writes an array.

    Args:
      arr_inp: the array.
      tensorstore_spec: describes where and how to store the array.
      commit_future: a list to which the futures of the writes are added. Without a list, this
        function waits for the writes. In both cases the caller may change the array after the
        return.
      context: limits on concurrent operations; by default `shared_context`.
      chunk_layout: preferences for chunks.
      primary_host: the process that creates the file; None if all processes create it.
      replica_id: the replica id of the shards to write.
      transaction: the transaction of the writes.

    Raises:
      ValueError: TensorStore cannot open or create the array with this spec, or each of several
        processes would write its own array to the same file.
    """
    array = arr_inp
    _check_shared(array, tensorstore_spec)
    if not isinstance(tensorstore_spec, dict):
        tensorstore_spec = tensorstore_spec.to_json()
    if not _is_metadata_known(tensorstore_spec):
        driver = tensorstore_spec.get("driver", "zarr")
        tensorstore_spec = merge_nested_ts_specs(
            tensorstore_spec, {"metadata": chunk_metadata(array, driver)}
        )
    options: dict[str, Any] = {
        "context": context or shared_context(),
        "transaction": transaction,
    }
    if chunk_layout is not None:
        options["chunk_layout"] = chunk_layout
    is_primary = primary_host is None or backends.process_index() == primary_host
    spec = ts.Spec(tensorstore_spec)
    store = await ts.open(
        spec,
        open=True,
        create=is_primary,
        assume_metadata=not is_primary,
        dtype=ts.dtype(np.dtype(array.dtype)),
        **options,
    )
    commits = await gather_all(
        *(
            _write_shard(store, shard, transaction)
            for shard in array.addressable_shards
            if shard.replica_id == replica_id
        )
    )
    if commit_future is not None:
        commit_future.extend(commits)
    elif transaction is None:
        await gather_all(*commits)


async def _write_shard(store: Any, shard: Any, transaction: Any) -> Any:
    if transaction is not None:
        store = store.with_transaction(transaction)
    # write a copy, which cannot change during the write
    write = store[shard.index].write(
        np.asarray(shard.data), can_reference_source_data_indefinitely=True
    )
    await write.copy
    return write.commit


def _resolved(in_type: Any) -> tuple[Any, Any, Any, Any]:
    """Returns the sharding, layout, shape and dtype of the array to read."""
    layout = shape = dtype = None
    sharding = in_type
    if hasattr(in_type, "shape") and hasattr(in_type, "dtype"):
        shape, dtype = in_type.shape, in_type.dtype
        sharding = getattr(in_type, "format", None) or in_type.sharding
    if isinstance(sharding, Format):
        layout, sharding = sharding.layout, sharding.sharding
    if not isinstance(sharding, Sharding):
        raise TypeError(
            "sharding passed to deserialization should be specified, concrete and an instance of "
            f"`olympus.sharding.Sharding`. Got {sharding}"
        )
    return sharding, layout, shape, dtype


async def async_deserialize(
    in_type: Any,
    tensorstore_spec: Any,
    global_shape: Sequence[int] | None = None,
    dtype: Any = None,
    byte_limiter: ByteLimiter | None = None,
    context: Any = None,
    chunk_layout: Any = None,
    assume_metadata: bool = False,
) -> Any:
    """Reads an array.

    Args:
      in_type: the sharding or the `Format` of the array, or a `ShapeDtypeStruct` with one of them.
      tensorstore_spec: describes where the array is stored.
      global_shape: the shape of the result. Stored elements outside of this shape are left out.
        Elements that the file lacks are zero.
      dtype: the dtype of the result.
      byte_limiter: limits the bytes that are read at the same time.
      context: limits on concurrent operations; by default `shared_context`.
      chunk_layout: preferences for chunks.
      assume_metadata: whether to take the metadata from the spec alone, and not from the file.

    Raises:
      TypeError: no sharding is given.
      ValueError: the spec refers to no stored array.
    """
    sharding, layout, given_shape, given_dtype = _resolved(in_type)
    options: dict[str, Any] = {} if chunk_layout is None else {"chunk_layout": chunk_layout}
    store = await ts.open(
        tensorstore_spec,
        open=True,
        assume_metadata=assume_metadata,
        context=context or shared_context(),
        **options,
    )
    requested = global_shape if global_shape is not None else given_shape
    shape = tuple(store.shape if requested is None else requested)
    dtype = dtype if dtype is not None else given_dtype
    sharding.shard_shape(shape)  # raises if the sharding does not divide the shape
    devices = sharding.addressable_devices_indices_map(shape).items()
    parts = await gather_all(
        *(
            _read_shard(store, index, shape, dtype, device, byte_limiter)
            for device, index in devices
        )
    )
    array = make_array_from_single_device_arrays(shape, sharding, parts)
    return array if layout is None else device_put(array, Format(layout, sharding))


async def _read_shard(
    store: Any, index: Any, shape: tuple, dtype: Any, device: Any, byte_limiter: Any
) -> Any:
    bounds = [part.indices(size) for part, size in zip(index, shape, strict=True)]
    part = np.zeros([stop - start for start, stop, _ in bounds], store.dtype.numpy_dtype)
    stored = [min(stop, size) for (_, stop, _), size in zip(bounds, store.shape, strict=True)]
    in_store = [
        slice(start, max(start, stop)) for (start, _, _), stop in zip(bounds, stored, strict=True)
    ]
    in_part = tuple(slice(0, span.stop - span.start) for span in in_store)
    if byte_limiter is not None:
        await byte_limiter.wait_for_bytes(part.nbytes)
    try:
        if all(span.stop > span.start for span in in_store):
            part[in_part] = await store[tuple(in_store)].read()
        if dtype is not None:
            part = part.astype(dtypes.canonicalize_dtype(dtype))
        return device_put(part, device)
    finally:
        if byte_limiter is not None:
            await byte_limiter.release_bytes(part.nbytes)


def run_serialization(arrays: Sequence[Any], tensorstore_specs: Sequence[Any]) -> None:
    """Writes several arrays, and waits until they are stored."""

    async def run() -> None:
        await gather_all(*map(async_serialize, arrays, tensorstore_specs))

    wait_for(run())


def run_deserialization(
    shardings: Sequence[Any],
    tensorstore_specs: Sequence[Any],
    global_shapes: Sequence[Any] | None = None,
    dtypes: Sequence[Any] | None = None,
    concurrent_gb: int = 32,
) -> list[Any]:
    """Reads several arrays.

    Args:
      shardings: the sharding or the `Format` of each array.
      tensorstore_specs: the TensorStore spec of each array.
      global_shapes: the shape of each array, by default the stored shape.
      dtypes: the dtype of each array, by default the stored dtype.
      concurrent_gb: the largest number of gigabytes to read at the same time.

    Returns:
      The arrays.
    """
    none = [None] * len(tensorstore_specs)

    async def run() -> list[Any]:
        limiter = ByteLimiter(concurrent_gb * 10**9)
        return await gather_all(
            *(
                async_deserialize(*options, byte_limiter=limiter)
                for options in zip(
                    shardings, tensorstore_specs, global_shapes or none, dtypes or none, strict=True
                )
            )
        )

    return wait_for(run())


async def combine_kvstores(
    combined_kvstore: Any, kvstores: Sequence[Any], context: Any = None
) -> None:
    """Combines the databases of several processes into one, without copying data."""
    context = context or shared_context()
    whole = await ts.KvStore.open(combined_kvstore, context=context)
    transaction = ts.Transaction(atomic=False)
    target = whole.with_transaction(transaction)
    stores = await gather_all(*(ts.KvStore.open(kvstore, context=context) for kvstore in kvstores))
    await gather_all(*(store.experimental_copy_range_to(target) for store in stores))
    await transaction.commit_async()
