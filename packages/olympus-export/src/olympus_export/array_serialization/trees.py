# SPDX-License-Identifier: Apache-2.0
"""Serialization of pytree structures as FlatBuffers, in the layout of JAX's checkpoints.

A node is a table of five fields: the kind, the children, the keys (for dictionaries), and the name
and the static data (for registered types). https://flatbuffers.dev/internals describes the format.
"""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

from ..trees import tree_from_json, tree_to_json

__all__ = ["tree_from_bytes", "tree_to_bytes"]

KINDS = ("leaf", "none", "tuple", "list", "dict", "custom")
KIND, CHILDREN, KEYS, NAME, AUXDATA = range(5)
ORDERED = "collections.OrderedDict"


def tree_to_bytes(tree: Any) -> bytes:
    """Returns a structure as a FlatBuffer.

    Raises:
      ValueError: the structure has nodes of types that are not registered for serialization.
    """
    buffer = bytearray(4)
    struct.pack_into("<I", buffer, 0, _write_node(buffer, tree_to_json(tree)))
    return bytes(buffer)


def tree_from_bytes(data: bytes) -> Any:
    """Returns the structure that `tree_to_bytes`, or JAX, wrote.

    Raises:
      ValueError: the structure has nodes of types that are not registered for serialization, or
        more nodes than ``data`` has bytes.
      struct.error: the data are damaged.
    """
    return tree_from_json(_Reader(data).node(struct.unpack_from("<I", data, 0)[0]))


# ---- writing: a table precedes the data that it refers to ----


def _align(buffer: bytearray, ahead: int = 0) -> None:
    buffer += bytes(-(len(buffer) + ahead) % 4)


def _write_node(buffer: bytearray, node: Any) -> int:
    """Appends a node, and returns its position."""
    node = {"kind": "leaf"} if node is None else node
    vtable_size = 4 + 2 * 5
    _align(buffer, vtable_size)
    position = len(buffer) + vtable_size
    slots = [4 + 4 * field for field in range(5)]
    present = {CHILDREN: node.get("children"), KEYS: node.get("keys")}
    if node["kind"] == "custom":
        present |= {NAME: node["name"].encode(), AUXDATA: _auxdata_out(node)}
    offsets = [
        slot if field == KIND or present.get(field) is not None else 0
        for field, slot in enumerate(slots)
    ]
    buffer += struct.pack("<7H", vtable_size, 4 + 4 * 5, *offsets)
    buffer += struct.pack("<i", vtable_size) + bytes(4 * 5)
    buffer[position + slots[KIND]] = KINDS.index(node["kind"])
    for field, value in present.items():
        if value is not None:
            write = _write_bytes if field in (NAME, AUXDATA) else _write_vector
            _refer(buffer, position + slots[field], write(buffer, value))
    return position


def _refer(buffer: bytearray, slot: int, position: int) -> None:
    struct.pack_into("<I", buffer, slot, position - slot)


def _write_bytes(buffer: bytearray, value: bytes) -> int:
    _align(buffer)
    position = len(buffer)
    buffer += struct.pack("<I", len(value)) + value + b"\0"
    return position


def _write_vector(buffer: bytearray, values: list[Any]) -> int:
    _align(buffer)
    position = len(buffer)
    buffer += struct.pack("<I", len(values)) + bytes(4 * len(values))
    for offset, value in enumerate(values):
        is_key = isinstance(value, str)
        end = _write_bytes(buffer, value.encode()) if is_key else _write_node(buffer, value)
        _refer(buffer, position + 4 + 4 * offset, end)
    return position


# ---- reading ----


class _Table:
    """A table of the file: its fields by number. Absent fields are empty."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data = data
        self._position = position
        self._slots = position - struct.unpack_from("<i", data, position)[0]
        self._size = struct.unpack_from("<H", data, self._slots)[0]

    def byte(self, field: int) -> int:
        place = self._place(field)
        return 0 if place is None else self._data[place]

    def contents(self, field: int) -> bytes:
        place = self._place(field)
        return b"" if place is None else self._bytes(self._followed(place))

    def elements(self, field: int) -> list[int]:
        """Returns the positions of the elements of a vector."""
        place = self._place(field)
        if place is None:
            return []
        start = self._followed(place)
        return [self._followed(start + 4 + 4 * index) for index in range(self._length(start))]

    def texts(self, field: int) -> list[str]:
        return [self._bytes(start).decode() for start in self.elements(field)]

    def _place(self, field: int) -> int | None:
        if 4 + 2 * field >= self._size:
            return None
        offset = struct.unpack_from("<H", self._data, self._slots + 4 + 2 * field)[0]
        return self._position + offset if offset else None

    def _followed(self, place: int) -> int:
        return place + struct.unpack_from("<I", self._data, place)[0]

    def _length(self, start: int) -> int:
        return struct.unpack_from("<I", self._data, start)[0]

    def _bytes(self, start: int) -> bytes:
        return self._data[start + 4 : start + 4 + self._length(start)]


class _Reader:
    """Reader of one structure. The number of nodes is limited."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        # A node takes several bytes, so more visits than bytes mean that nodes are referred to
        # repeatedly.
        self._nodes_left = len(data)

    def node(self, position: int) -> Any:
        self._nodes_left -= 1
        if self._nodes_left < 0:
            raise ValueError("a structure has more nodes than its file has bytes")
        table = _Table(self._data, position)
        kind = KINDS[table.byte(KIND)]
        if kind == "leaf":
            return None
        children = [self.node(child) for child in table.elements(CHILDREN)]
        node: dict[str, Any] = {"kind": kind, "children": children}
        if kind == "dict":
            node["keys"] = table.texts(KEYS)
        if kind == "custom":
            node["name"] = table.contents(NAME).decode()
            node["auxdata"] = _auxdata_in(node["name"], table.contents(AUXDATA))
        return node


# ---- static data: the keys of ordered dictionaries are JSON in these files ----


def _auxdata_out(node: dict[str, Any]) -> bytes:
    data = base64.b64decode(node["auxdata"])
    if node["name"] == ORDERED:
        return json.dumps(data.decode().split("\0") if data else []).encode()
    return data


def _auxdata_in(name: str, data: bytes) -> str:
    if name == ORDERED:
        data = "\0".join(json.loads(data)).encode()
    return base64.b64encode(data).decode()
