# SPDX-License-Identifier: Apache-2.0
"""Writing and reading of pytrees of arrays. Each pytree has a folder of its own.

The folder contains a file ``pytreedef.json`` with the structure and the types of the arrays. A
database ``array_store`` contains the arrays, named by their positions in the pytree. JAX uses the
same format.
"""

from __future__ import annotations

import asyncio
import base64
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import struct
import threading
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from olympus_ir.trees import pytrees
from olympus_ir.trees.pytree_prefix import broadcast_prefix
from olympus_ir.types import dtypes
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_xla.arrays.transfer import device_put
from olympus_xla.platforms import backends
from olympus_xla.processes import multihost

from .specs import get_tensorstore_spec, is_remote_storage, merge_nested_ts_specs
from .stores import (
    ByteLimiter,
    async_deserialize,
    async_serialize,
    combine_kvstores,
    gather_all,
    wait_for,
)
from .trees import tree_from_bytes, tree_to_bytes

__all__ = [
    "PyTreeFuture",
    "load",
    "load_pytreedef",
    "nonblocking_load",
    "nonblocking_save",
    "save",
]

TREE_FILE, STORE = "pytreedef.json", "array_store"
UNFINISHED = f"{TREE_FILE}.unfinished"
TREE_KEY, LEAVES_KEY = "__jax_pytreedef_repr", "__jax_leaf_ids"
BYTES_AT_A_TIME = 32 << 30

_LEAF = re.compile(r"^Array\((?P<dtype>[\w<>]+)\[(?P<shape>[\d, ]*)\]\)$")


class PyTreeFuture(concurrent.futures.Future):
    """Future of a pytree that a thread reads or writes, with ``result()`` and ``await``.

    Attributes:
      pytree: the pytree with `ShapeDtypeStruct`s in place of arrays, available immediately.
    """

    def __init__(self, work: Callable[[], Any], pytree: Any) -> None:
        super().__init__()
        self.pytree = pytree
        threading.Thread(target=self._run, args=(work,)).start()

    def _run(self, work: Callable[[], Any]) -> None:
        self.set_running_or_notify_cancel()
        try:
            self.set_result(work())
        except BaseException as error:  # `result` raises the exception
            self.set_exception(error)

    def __await__(self) -> Generator[Any, None, Any]:
        return asyncio.wrap_future(self).__await__()


def _is_none(value: Any) -> bool:
    return value is None


def _description(leaf: Any) -> str | None:
    if leaf is None:
        return None
    sizes = ", ".join(map(str, leaf.shape))
    return f"Array({dtypes.name_of(leaf.dtype)}[{sizes}])"


def _described(text: str | None) -> Any:
    if text is None:
        return None
    found = _LEAF.match(text)
    if found is None:
        raise ValueError(f"{TREE_FILE} has a leaf {text!r}, which is not of the form 'Array(...)'")
    shape = tuple(int(size) for size in found["shape"].split(",") if size.strip())
    return ShapeDtypeStruct(shape, np.dtype(found["dtype"]))


def _local(directory: Any) -> pathlib.Path:
    text = os.fspath(directory)
    if is_remote_storage(text):
        raise ValueError(
            f"the folder of a pytree must be in the file system, got {text}. Write arrays to the "
            "cloud with GlobalAsyncCheckpointManager."
        )
    return pathlib.Path(text).resolve()


# ---- writing ----


def save(data: Any, directory: Any, *, overwrite: bool = True, ts_specs: Any = None) -> None:
    """Writes a pytree of arrays to a folder.

    The file ``pytreedef.json`` is written last, in one atomic step. `load` refuses a folder without
    this file, so an incomplete pytree is never read. With ``overwrite``, the
    old contents are removed first. Write each training step to its own folder.

    Args:
      data: the pytree. Its leaves are arrays or None.
      directory: the folder, which is created.
      overwrite: whether to replace a complete or unfinished pytree that is already in the folder.
      ts_specs: a pytree prefix of TensorStore specs with further options of the storage.

    Raises:
      ValueError: a leaf is not an array, or the folder has files and ``overwrite`` is not set.

    Example:
      Needs the library tensorstore::

        save({"a": olympus.numpy.arange(2), "b": None}, "/tmp/data")
        load("/tmp/data", SingleDeviceSharding(olympus.devices()[0]))
    """
    leaves, tree = pytrees.tree_flatten(data, is_leaf=_is_none)
    leaves = [None if leaf is None else _checked(leaf) for leaf in leaves]
    contents = {
        TREE_KEY: base64.b64encode(tree_to_bytes(tree)).decode(),
        LEAVES_KEY: list(map(_description, leaves)),
    }
    specs = _spread(ts_specs, data)
    root, several = _local(directory), backends.process_count() > 1
    if backends.process_index() == 0:
        _prepare(root, overwrite)
    multihost.sync_global_devices(f"save {root}: folder")
    own = backends.process_index() if several else None

    async def write() -> None:
        await gather_all(
            *(
                async_serialize(
                    leaf,
                    merge_nested_ts_specs(
                        get_tensorstore_spec(root / STORE / str(index), True, own, leaf), spec
                    ),
                )
                for index, (leaf, spec) in enumerate(zip(leaves, specs, strict=True))
                if leaf is not None
            )
        )

    wait_for(write())
    if several:
        multihost.sync_global_devices(f"save {root}: arrays")
        if backends.process_index() == 0:
            parts = [_database(root, process) for process in range(backends.process_count())]
            wait_for(combine_kvstores(_database(root, None), parts))
    if backends.process_index() == 0:
        _commit(root, json.dumps(contents, indent=2))
    if several:
        multihost.sync_global_devices(f"save {root}: database")


def _checked(leaf: Any) -> Any:
    """Checks that a leaf can be written, and returns the leaf."""
    dtype = getattr(leaf, "dtype", None)
    if dtype is None or not hasattr(leaf, "shape"):
        raise ValueError(
            "For serialization, all leaves must be either None or olympus.Array-like objects, "
            f"got {leaf!r} of type {type(leaf).__name__}."
        )
    if dtypes.is_extended(dtype):
        raise TypeError(
            f"arrays of dtype {dtypes.name_of(dtype)} cannot be saved: save "
            "`olympus.random.key_data` of keys"
        )
    return leaf if hasattr(leaf, "addressable_shards") else device_put(leaf)


def _database(root: pathlib.Path, process: int | None) -> dict[str, Any]:
    name = "" if process is None else f"process_{process}/"
    return {"driver": "ocdbt", "base": f"file://{root / STORE}/{name}"}


def _prepare(root: pathlib.Path, overwrite: bool) -> None:
    """Makes the folder, and removes an older complete or unfinished pytree in it."""
    if root.exists() and any(root.iterdir()):
        if not overwrite:
            raise ValueError(
                f"Files already exist at path: `{root}`, but you specified `overwrite=False`"
            )
        names = {path.name for path in root.iterdir()}
        if TREE_FILE not in names and not names <= {UNFINISHED, STORE}:
            raise ValueError(
                f"the folder {root} has files, and none of them is {TREE_FILE}: it is not one that "
                "`save` wrote, and is not overwritten"
            )
        (root / TREE_FILE).unlink(missing_ok=True)
        shutil.rmtree(root / STORE, ignore_errors=True)
    root.mkdir(parents=True, exist_ok=True)


def _commit(root: pathlib.Path, contents: str) -> None:
    """Writes ``pytreedef.json``, which marks the folder as complete, in one atomic step."""
    with open(root / UNFINISHED, "w", encoding="utf-8") as file:
        file.write(contents)
        file.flush()
        os.fsync(file.fileno())
    os.replace(root / UNFINISHED, root / TREE_FILE)


def _spread(prefix: Any, data: Any) -> list[Any]:
    """Broadcasts a prefix tree of specs to the leaves; a leaf without a spec gets None."""
    if prefix is None:
        return [None] * len(pytrees.tree_leaves(data, is_leaf=_is_none))
    return broadcast_prefix(
        prefix,
        data,
        is_leaf=lambda leaf: leaf is None or (isinstance(leaf, dict) and "driver" in leaf),
    )


def nonblocking_save(
    data: Any, directory: Any, *, overwrite: bool = True, ts_specs: Any = None
) -> PyTreeFuture:
    """Writes a pytree of arrays as `save` does, in a thread.

    Returns:
      A future, whose attribute ``pytree`` has the types of the arrays.
    """
    types = pytrees.tree_map(
        lambda leaf: None if leaf is None else ShapeDtypeStruct(leaf.shape, leaf.dtype),
        data,
        is_leaf=_is_none,
    )
    return PyTreeFuture(
        lambda: save(data, directory, overwrite=overwrite, ts_specs=ts_specs), types
    )


# ---- reading ----

# Exceptions that the readers of JSON, base64 and pytree structures raise for damaged data.
_DAMAGED = (
    *(ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, struct.error),
)


def load_pytreedef(directory: Any) -> Any:
    """Reads the structure of a pytree in a folder, and the types of its arrays.

    Args:
      directory: the folder.

    Returns:
      The pytree, with `ShapeDtypeStruct`s for arrays.

    Raises:
      FileNotFoundError: the folder has no pytree.
      ValueError: the file with the structure is damaged.
    """
    path = _local(directory) / TREE_FILE
    try:
        contents = json.loads(path.read_text("utf-8"))
        tree = tree_from_bytes(base64.b64decode(contents[TREE_KEY]))
        return pytrees.tree_unflatten(tree, map(_described, contents[LEAVES_KEY]))
    except _DAMAGED as error:
        raise ValueError(f"{path} is damaged: {type(error).__name__}: {error}") from None


def load(directory: Any, shardings: Any, *, mask: Any = None, ts_specs: Any = None) -> Any:
    """Reads a pytree of arrays from a folder.

    Args:
      directory: the folder.
      shardings: a pytree prefix of shardings. A `ShapeDtypeStruct` with a sharding, in place of a
        sharding, requests another dtype or shape.
      mask: a pytree prefix of booleans. A leaf with False is not read, and is None in the result.
      ts_specs: a pytree prefix of TensorStore specs with further options of the storage.

    Returns:
      The pytree of arrays, with the requested shardings.

    Raises:
      FileNotFoundError: the folder has no pytree.
      TypeError: an array that is read has no sharding.
    """
    root = _local(directory)
    types = load_pytreedef(root)
    leaves, tree = pytrees.tree_flatten(types, is_leaf=_is_none)
    destinations = _prefix(shardings, types)
    masks = [True] * len(leaves) if mask is None else _prefix(mask, types)
    specs = _spread(ts_specs, types)

    async def read() -> list[Any]:
        limiter = ByteLimiter(BYTES_AT_A_TIME)

        async def read_leaf(number: int) -> Any:
            if leaves[number] is None or not masks[number]:
                return None
            spec = merge_nested_ts_specs(
                get_tensorstore_spec(root / STORE / str(number)), specs[number]
            )
            return await async_deserialize(destinations[number], spec, byte_limiter=limiter)

        return await gather_all(*map(read_leaf, range(len(leaves))))

    return pytrees.tree_unflatten(tree, wait_for(read()))


def _prefix(prefix: Any, full: Any) -> list[Any]:
    return broadcast_prefix(prefix, full, is_leaf=_is_none)


def nonblocking_load(
    directory: Any, shardings: Any, *, mask: Any = None, ts_specs: Any = None
) -> PyTreeFuture:
    """Reads a pytree of arrays as `load` does, in a thread.

    Returns:
      A future, whose attribute ``pytree`` has the types of the arrays.
    """
    return PyTreeFuture(
        lambda: load(directory, shardings, mask=mask, ts_specs=ts_specs), load_pytreedef(directory)
    )
