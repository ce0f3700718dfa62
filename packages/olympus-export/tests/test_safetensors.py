# SPDX-License-Identifier: Apache-2.0
"""The safetensors format: bytes as its definition has them, and refusals of false claims."""

import json
import struct

import ml_dtypes
import numpy as np
import pytest

from olympus_export.frozen import safetensors

ARRAYS = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "empty": np.zeros((0, 4), np.int64),
    "scalar": np.array(True),
    "half": np.array([1.5, -2], ml_dtypes.bfloat16),
    "small": np.array([[0.5]], ml_dtypes.float8_e4m3fn),
    "complex": np.array([1 + 2j], np.complex64),
}


def by_hand(header, data=b""):
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(encoded)) + encoded + data


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def test_bytes_follow_the_safetensors_format():
    contents = safetensors.write(ARRAYS, {"who": "me"})
    (length,) = struct.unpack_from("<Q", contents)
    header = json.loads(contents[8 : 8 + length])
    assert length % 8 == 0
    assert header["__metadata__"] == {"who": "me"}
    assert header["a"] == {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
    assert header["half"]["dtype"] == "BF16"
    begin, end = header["complex"]["data_offsets"]
    stored = contents[8 + length :][begin:end]
    assert struct.unpack("<2f", stored) == (1.0, 2.0)


def test_reading_returns_the_written_arrays():
    arrays, metadata = safetensors.read(safetensors.write(ARRAYS, {"who": "me"}))
    assert metadata == {"who": "me"}
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def test_handwritten_files_are_read():
    data = np.array([7, 8], np.float32).tobytes() + np.array([9], np.int32).tobytes()
    header = {"late": entry("I32", (), (8, 12)), "early": entry()}
    arrays = safetensors.read(by_hand(header, data)).arrays
    assert arrays["late"] == 9
    np.testing.assert_array_equal(arrays["early"], [7, 8])


def test_safetensors_library_reads_written_files():
    library = pytest.importorskip("safetensors.numpy")
    plain = {name: ARRAYS[name] for name in ("a", "empty", "scalar")}
    loaded = library.load(safetensors.write(plain, {}))
    for name, array in plain.items():
        np.testing.assert_array_equal(loaded[name], array)
    arrays = safetensors.read(library.save(plain)).arrays
    for name, array in plain.items():
        np.testing.assert_array_equal(arrays[name], array)


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"\x01\x02",
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 3) + b"{}",
        by_hand(b"[" * 100_000),
        by_hand(b"[]"),
        by_hand(b"\xff\xfe"),
        by_hand({"a": entry()}),  # no data
        by_hand({"a": entry()}, bytes(9)),  # data left over
        by_hand({"a": entry(shape=(3,))}, bytes(8)),
        by_hand({"a": entry(shape=(2**62, 2**62), offsets=(0, 8))}, bytes(8)),
        by_hand({"a": entry(shape=(-1,), offsets=(0, 0))}),
        by_hand({"a": entry(shape=(2.0,))}, bytes(8)),
        by_hand({"a": entry(shape=(True, 2))}, bytes(8)),
        by_hand({"a": entry(shape=(1,) * 65, offsets=(0, 4))}, bytes(4)),
        by_hand({"a": entry(offsets=(-8, 0))}, bytes(8)),
        by_hand({"a": entry(offsets=(4, 12))}, bytes(12)),  # a hole
        by_hand({"a": entry(), "b": entry()}, bytes(8)),  # the same bytes twice
        by_hand({"a": entry("F33")}, bytes(8)),
        by_hand({"a": None}),
        by_hand({"__metadata__": {"n": 1}}),
        by_hand({"__metadata__": []}),
        by_hand(b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":1}'),
    ],
)
def test_malformed_files_raise(contents):
    with pytest.raises(ValueError, match=r"."):
        safetensors.read(contents)


def test_unsupported_dtypes_raise():
    with pytest.raises(ValueError, match="'z' has dtype complex128"):
        safetensors.write({"z": np.zeros(1, np.complex128)}, {})
