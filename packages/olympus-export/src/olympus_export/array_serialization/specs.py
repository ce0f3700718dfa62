# SPDX-License-Identifier: Apache-2.0
"""TensorStore specs, which describe where and in which chunks an array is stored."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

__all__ = [
    "chunk_metadata",
    "get_tensorstore_spec",
    "is_remote_storage",
    "merge_nested_ts_specs",
    "process_path",
    "verify_tensorstore_spec",
]

# Some file systems write the files of larger chunks slowly.
LARGEST_CHUNK_BYTES = 2 << 30

_REMOTE_SCHEMES = {"gs": "gcs", "s3": "s3"}
_REMOTE_PATH = re.compile(r"^(gs|s3)://([^/]*)/?(.*)$")


def is_remote_storage(tspec: Mapping[str, Any] | str) -> bool:
    """Returns whether a spec or a path refers to cloud storage.

    Args:
      tspec: a TensorStore spec, or a path or address.

    Example:
      >>> is_remote_storage("gs://bucket/checkpoint")
      True
    """
    if isinstance(tspec, str):
        return re.match(r"^(gs|s3|gcs)://", tspec) is not None
    return any(
        (key == "driver" and value in ("gcs", "s3"))
        or (key in ("base", "kvstore") and is_remote_storage(value))
        for key, value in tspec.items()
        if isinstance(value, str | Mapping)
    )


def process_path(path: str, process_idx: int | None) -> str:
    """Returns the folder that a process writes to; ``path`` itself if ``process_idx`` is None."""
    return path if process_idx is None else f"{path.rstrip('/')}/process_{process_idx}"


def get_tensorstore_spec(
    ckpt_path: str | os.PathLike[str],
    ocdbt: bool = True,
    process_idx: int | None = None,
    arr: Any = None,
    driver: str = "zarr3",
) -> dict[str, Any]:
    """Returns the TensorStore spec of an array.

    Args:
      ckpt_path: the location of the array: an absolute path, or the address of an object in the
        cloud.
      ocdbt: whether to store the arrays of one folder in a single database, at the parent path.
      process_idx: the index of the process, if each process writes its own database.
      arr: the array, which determines the chunks.
      driver: ``"zarr"`` or ``"zarr3"``.

    Raises:
      ValueError: the path does not name a folder and an array.

    Example:
      >>> get_tensorstore_spec("/tmp/a/b", ocdbt=False)
      {'driver': 'zarr3', 'kvstore': {'driver': 'file', 'path': '/tmp/a/b'}}
    """
    path = os.fspath(ckpt_path).rstrip("/")
    remote = _REMOTE_PATH.match(path)
    if remote:
        scheme, bucket, inner = remote.groups()
        store: dict[str, Any] = {"driver": _REMOTE_SCHEMES[scheme], "bucket": bucket}
    else:
        inner, store = path, {"driver": "file"}
    if ocdbt:
        folder, _, name = inner.rpartition("/")
        if remote and not folder:
            raise ValueError(
                "Using OCDBT requires the bucket name, the directory name and the array name, your "
                f"path is: {path}"
            )
        if not remote and not os.path.isabs(path):
            raise ValueError(f"Checkpoint path should be absolute. Got {folder or path}")
        base = {**store, "path": process_path(folder, process_idx)}
        store = {"driver": "ocdbt", "base": base, "path": name}
    else:
        store["path"] = process_path(inner, process_idx)
    spec = {"driver": driver, "kvstore": store}
    if arr is not None:
        spec["metadata"] = chunk_metadata(arr, driver)
    return spec


def chunk_metadata(array: Any, driver: str) -> dict[str, Any]:
    """Returns the spec's metadata: shape, chunks, and (for zarr3) the dtype."""
    shape, dtype = tuple(array.shape), np.dtype(array.dtype)
    sharding = getattr(array, "sharding", None)
    part = shape if sharding is None else tuple(sharding.shard_shape(shape))
    chunk = _chunk_shape(part, dtype.itemsize)
    if driver == "zarr":
        return {"compressor": {"id": "zstd"}, "shape": shape, "chunks": chunk}
    return {
        "codecs": [],
        "shape": shape,
        "data_type": dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
    }


def _chunk_shape(shape: Sequence[int], itemsize: int) -> list[int]:
    """Returns the shape of chunks that divide an array evenly and are small enough for a file."""
    chunk = [max(size, 1) for size in shape]
    while math.prod(chunk) * itemsize > LARGEST_CHUNK_BYTES:
        axis = int(np.argmax(chunk))
        if chunk[axis] == 1:
            break
        chunk[axis] //= _smallest_factor(chunk[axis])
    return chunk


def _smallest_factor(number: int) -> int:
    return next((n for n in range(2, math.isqrt(number) + 1) if number % n == 0), number)


def merge_nested_ts_specs(first: Any, second: Any) -> Any:
    """Merges two specs; the second takes precedence."""
    if second is None:
        return first
    merged = dict(first)
    for key, value in second.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge_nested_ts_specs(merged[key], value) if both else value
    return merged


def verify_tensorstore_spec(
    spec: Mapping[str, Any], arr: Any, path: Any, ocdbt: bool, check_metadata: bool = True
) -> None:
    """Checks that a spec fits an array at a path.

    Raises:
      ValueError: a part of the spec does not fit.
    """
    if "kvstore" not in spec or "driver" not in spec:
        raise ValueError(f"a TensorStore spec must have `driver` and `kvstore`, got {spec}")
    if ocdbt != (spec["kvstore"].get("driver") == "ocdbt"):
        raise ValueError(
            f"the spec must {'' if ocdbt else 'not '}be of a database of the driver 'ocdbt', got "
            f"{spec['kvstore']}"
        )
    metadata = spec.get("metadata")
    if check_metadata and metadata is not None and arr is not None:
        shape = tuple(metadata.get("shape", arr.shape))
        if shape != tuple(arr.shape):
            raise ValueError(
                f"the spec at {path} is of shape {shape}, the array of shape {tuple(arr.shape)}"
            )
