# SPDX-License-Identifier: Apache-2.0
"""The safetensors format: arrays by name, and texts by name, in one file of data.

A file consists of the length of the header (8 bytes), the header, and the bytes of all arrays
(https://github.com/huggingface/safetensors). The header is JSON, with the dtype, shape and position
of each array. The reader checks these against the size of the file before it allocates memory.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from olympus_ir.types import dtypes

__all__ = ["Contents", "header_bytes", "read", "write"]

_LENGTH = struct.Struct("<Q")
#: The longest header that the format allows, in bytes.
LONGEST_HEADER = 100_000_000
_MOST_DIMENSIONS = 64

_NAMES = {
    **{"BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16"},
    **{"U32": "uint32", "I32": "int32", "U64": "uint64", "I64": "int64"},
    **{"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"},
    **{"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu"},
    **{"C64": "complex64"},
}
_CODES = {name: code for code, name in _NAMES.items()}


class Contents(NamedTuple):
    """Contents of a file.

    Attributes:
      arrays: the arrays by name, read-only.
      metadata: the texts by name.
    """

    arrays: dict[str, np.ndarray]
    metadata: dict[str, str]


def write(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> bytes:
    """Returns a file's bytes for arrays and texts.

    Args:
      arrays: the arrays by name.
      metadata: the texts by name.

    Raises:
      ValueError: an array has a dtype that the format does not have.

    Example:
      >>> read(write({"a": np.arange(3)}, {"about": "numbers"})).metadata
      {'about': 'numbers'}
    """
    header = header_bytes(arrays, metadata)
    pieces = [np.ascontiguousarray(array).tobytes() for array in arrays.values()]
    return b"".join([_LENGTH.pack(len(header)), header, *pieces])


def header_bytes(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> bytes:
    """Returns the header of a file. Its length is a multiple of 8, to align the arrays."""
    entries: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    position = 0
    for name, array in arrays.items():
        kind = dtypes.name_of(array.dtype)
        if kind not in _CODES:
            raise ValueError(
                f"the array {name!r} has dtype {kind}, which files of weights do not have; convert "
                f"it to one of {', '.join(_CODES)}"
            )
        end = position + array.nbytes
        entries[name] = {
            "dtype": _CODES[kind],
            "shape": list(array.shape),
            "data_offsets": [position, end],
        }
        position = end
    header = json.dumps(entries, separators=(",", ":")).encode()
    return header + b" " * (-len(header) % 8)


def read(contents: bytes) -> Contents:
    """Returns the arrays and texts of a file.

    Args:
      contents: the bytes of the file.

    Raises:
      ValueError: the bytes are not in the format, or are damaged.

    Example:
      >>> read(write({"a": np.arange(3.0)}, {})).arrays["a"]
      array([0., 1., 2.])
    """
    try:
        return _read(contents)
    except (KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise ValueError(f"the header is damaged: {type(error).__name__}: {error}") from None


def _read(contents: bytes) -> Contents:
    if len(contents) < _LENGTH.size:
        raise ValueError(f"the file has {len(contents)} bytes, fewer than the length of a header")
    (length,) = _LENGTH.unpack_from(contents)
    if length > min(len(contents) - _LENGTH.size, LONGEST_HEADER):
        raise ValueError(
            f"the header claims {length} bytes, and the file has {len(contents) - _LENGTH.size}"
        )
    start = _LENGTH.size + length
    # given bytes, `json` would guess the encoding
    text = contents[_LENGTH.size : start].decode()
    header = json.loads(text, object_pairs_hook=_without_duplicates)
    metadata = header.pop("__metadata__", {})
    if not all(type(text) is str for text in metadata.values()):
        raise ValueError("the header's __metadata__ must map strings to strings")
    data = memoryview(contents)[start:]
    arrays, position = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        if begin != position or not begin <= end <= len(data):
            raise ValueError(
                f"the array {name!r} claims the bytes {begin} to {end}; it must begin at {position}"
                f" and end before {len(data)}"
            )
        arrays[name] = _array(name, entry, data[begin:end])
        position = end
    if position != len(data):
        raise ValueError(f"the arrays have {position} bytes, and the file has {len(data)}")
    return Contents({name: arrays[name] for name in header}, metadata)


def _array(name: str, entry: dict[str, Any], data: memoryview) -> np.ndarray:
    shape, code = entry["shape"], entry["dtype"]
    is_shape = len(shape) <= _MOST_DIMENSIONS and all(
        type(size) is int and 0 <= size < 2**63 for size in shape
    )
    if not is_shape or code not in _NAMES:
        raise ValueError(f"the array {name!r} has shape {shape!r} and dtype {code!r}")
    dtype = dtypes.dtype(_NAMES[code])
    if math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(
            f"the array {name!r} of shape {tuple(shape)} and dtype {code} does not have "
            f"{len(data)} bytes"
        )
    return np.frombuffer(data, dtype).reshape(shape)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("the header has one name twice")
    return found
