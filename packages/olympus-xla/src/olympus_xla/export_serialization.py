# SPDX-License-Identifier: Apache-2.0
"""Exported functions as bytes.

The format: a magic number, the length of a header, its checksum, the header as JSON, and the pieces
of data that it refers to by number, one after the other. Reading runs no code of the file's.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any

from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.effects import Effect
from olympus_ir.types.extended_dtypes import ExtendedDType
from olympus_ir.types.placement import AbstractMesh, AxisType, PartitionSpec
from olympus_sharding import NamedSharding

from ._jaxlib import HloSharding, OpSharding
from .export_trees import (
    register_namedtuple_serialization,
    register_pytree_node_serialization,
    tree_from_json,
    tree_to_json,
)
from .exported import DisabledSafetyCheck, Exported
from .foreign.ffi_primitive import FfiEffect

__all__ = [
    "deserialize",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
    "serialize",
]

_MAGIC = b"\x89OLYMPUS-EXPORT\n"
_FORMAT_VERSION = 1
_LENGTHS = struct.Struct("<IIQ")  # version of the format, checksum, length of the header

# Effects that exported programs may have, by name.
_EFFECTS: dict[str, type[Effect]] = {"Ffi": FfiEffect}


class _Pieces:
    """The pieces of data of a file that is being written."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def add(self, piece: bytes) -> int:
        self.pieces.append(bytes(piece))
        return len(self.pieces) - 1


def serialize(exported: Exported, vjp_order: int = 0) -> bytearray:
    """An exported function as bytes; see `Exported.serialize`.

    Raises:
      ValueError: where ``vjp_order`` is negative, or trees have nodes of unregistered types.
    """
    if vjp_order < 0:
        raise ValueError(f"vjp_order must be 0 or positive, got {vjp_order}")
    pieces = _Pieces()
    contents = _to_json(exported, vjp_order, pieces)
    header = json.dumps(
        {"exported": contents, "lengths": list(map(len, pieces.pieces))}, separators=(",", ":")
    ).encode()
    body = header + b"".join(pieces.pieces)
    lengths = _LENGTHS.pack(_FORMAT_VERSION, zlib.crc32(body), len(header))
    return bytearray(_MAGIC + lengths + body)


def deserialize(blob: bytes | bytearray) -> Exported:
    """The exported function that `Exported.serialize` wrote.

    Args:
      blob: the bytes.

    Raises:
      ValueError: where they are not an exported function, or of a version that cannot be read.
    """
    blob = bytes(blob)
    if not blob.startswith(_MAGIC):
        raise ValueError(
            "deserialize: these bytes are not an exported function of OLYMPUS. It reads what "
            f"Exported.serialize returned; this begins with {blob[:16]!r}."
        )
    start = len(_MAGIC) + _LENGTHS.size
    if len(blob) < start:
        raise ValueError(f"deserialize: the exported function is cut off after {len(blob)} bytes")
    version, checksum, header_length = _LENGTHS.unpack_from(blob, len(_MAGIC))
    if version != _FORMAT_VERSION:
        raise ValueError(
            f"deserialize: the exported function is in version {version} of the format, and this "
            f"version of OLYMPUS reads {_FORMAT_VERSION}"
        )
    body = memoryview(blob)[start:]
    if zlib.crc32(body) != checksum:
        raise ValueError(
            "deserialize: the exported function is damaged or cut off: its checksum differs"
        )
    header = json.loads(bytes(body[:header_length]))
    pieces, position = [], header_length
    for length in header["lengths"]:
        pieces.append(bytes(body[position : position + length]))
        position += length
    return _from_json(header["exported"], pieces)


def _to_json(exported: Exported, vjp_order: int, pieces: _Pieces) -> dict[str, Any]:
    vjp = exported.vjp() if vjp_order else None
    return {
        "fun_name": exported.fun_name,
        "in_tree": tree_to_json(exported.in_tree),
        "in_avals": list(map(_aval_to_json, exported.in_avals)),
        "out_tree": tree_to_json(exported.out_tree),
        "out_avals": list(map(_aval_to_json, exported.out_avals)),
        "in_named_shardings": list(map(_named_to_json, exported._in_named_shardings)),
        "out_named_shardings": list(map(_named_to_json, exported._out_named_shardings)),
        "in_shardings_hlo": [_hlo_to_json(each, pieces) for each in exported.in_shardings_hlo],
        "out_shardings_hlo": [_hlo_to_json(each, pieces) for each in exported.out_shardings_hlo],
        "nr_devices": exported.nr_devices,
        "platforms": list(exported.platforms),
        "ordered_effects": _effects_to_json(exported.ordered_effects),
        "unordered_effects": _effects_to_json(exported.unordered_effects),
        "disabled_safety_checks": [check._impl for check in exported.disabled_safety_checks],
        "module": pieces.add(exported.mlir_module_serialized),
        "calling_convention_version": exported.calling_convention_version,
        "module_kept_var_idx": list(exported.module_kept_var_idx),
        "uses_global_constants": exported.uses_global_constants,
        "constraints": _constraints_to_json(exported),
        "vjp": None if vjp is None else _to_json(vjp, vjp_order - 1, pieces),
    }


def _from_json(data: dict[str, Any], pieces: Sequence[bytes]) -> Exported:
    vjp = None if data["vjp"] is None else _from_json(data["vjp"], pieces)
    scope = _scope_from_json(data.get("constraints"))
    return Exported(
        fun_name=data["fun_name"],
        in_tree=tree_from_json(data["in_tree"]),
        in_avals=tuple(_aval_from_json(aval, scope) for aval in data["in_avals"]),
        out_tree=tree_from_json(data["out_tree"]),
        out_avals=tuple(_aval_from_json(aval, scope) for aval in data["out_avals"]),
        _has_named_shardings=True,
        _in_named_shardings=tuple(map(_named_from_json, data["in_named_shardings"])),
        _out_named_shardings=tuple(map(_named_from_json, data["out_named_shardings"])),
        in_shardings_hlo=tuple(_hlo_from_json(e, pieces) for e in data["in_shardings_hlo"]),
        out_shardings_hlo=tuple(_hlo_from_json(e, pieces) for e in data["out_shardings_hlo"]),
        nr_devices=data["nr_devices"],
        platforms=tuple(data["platforms"]),
        ordered_effects=_effects_from_json(data["ordered_effects"]),
        unordered_effects=_effects_from_json(data["unordered_effects"]),
        disabled_safety_checks=list(map(DisabledSafetyCheck, data["disabled_safety_checks"])),
        mlir_module_serialized=pieces[data["module"]],
        calling_convention_version=data["calling_convention_version"],
        module_kept_var_idx=tuple(data["module_kept_var_idx"]),
        uses_global_constants=data["uses_global_constants"],
        _get_vjp=None if vjp is None else lambda exported: vjp,
    )


# ---- parts ----


def _aval_to_json(aval: Any) -> list[Any]:
    shape = [size if type(size) is int else str(size) for size in aval.shape]
    return [shape, dtypes.name_of(aval.dtype), aval.weak_type]


def _aval_from_json(data: list[Any], scope: Any) -> ShapedArray:
    shape, dtype, weak_type = data
    sizes = tuple(_size_from_json(size, scope) if type(size) is str else size for size in shape)
    return ShapedArray(sizes, _dtype_of_name(dtype), weak_type)


def _size_from_json(text: str, scope: Any) -> Any:
    from olympus_ir.symbolic import symbolic_shape  # only where shapes are symbolic

    return symbolic_shape(text, scope=scope)[0]


def _constraints_to_json(exported: Exported) -> list[str] | None:
    """What is assumed of dimension variables; None where shapes are fixed."""
    for aval in exported.in_avals:
        for size in aval.shape:
            if type(size) is not int:
                return [constraint.text for constraint in size.scope.constraints]
    return None


def _scope_from_json(constraints: list[str] | None) -> Any:
    if constraints is None:
        return None
    from olympus_ir.symbolic import SymbolicScope  # only where shapes are symbolic

    return SymbolicScope(constraints)


def _dtype_of_name(name: str) -> Any:
    if name == "float0":
        return dtypes.float0
    for kind in ExtendedDType.__subclasses__():
        found = kind.from_name(name)
        if found is not None:
            return found
    try:
        return dtypes.dtype(name)
    except TypeError:
        raise ValueError(
            f"deserialize: the exported function has arrays of dtype {name}, which is not known "
            "here. Import the package that defines it first."
        ) from None


def _named_to_json(sharding: Any) -> Any:
    if sharding is None:
        return None
    mesh, spec = sharding.mesh, sharding.spec
    return {
        "axis_names": list(mesh.axis_names),
        "axis_sizes": list(mesh.axis_sizes),
        "axis_types": [axis_type.name for axis_type in mesh.axis_types],
        "spec": [
            {"free": True}
            if entry is PartitionSpec.UNCONSTRAINED
            else list(entry)
            if isinstance(entry, tuple)
            else entry
            for entry in spec
        ],
    }


def _named_from_json(data: Any) -> Any:
    if data is None:
        return None
    mesh = AbstractMesh(
        tuple(data["axis_sizes"]),
        tuple(data["axis_names"]),
        axis_types=tuple(AxisType[name] for name in data["axis_types"]),
    )
    entries = [
        PartitionSpec.UNCONSTRAINED
        if isinstance(entry, dict)
        else tuple(entry)
        if isinstance(entry, list)
        else entry
        for entry in data["spec"]
    ]
    return NamedSharding(mesh, PartitionSpec(*entries))


def _hlo_to_json(sharding: Any, pieces: _Pieces) -> int | None:
    return None if sharding is None else pieces.add(sharding.to_proto().SerializeToString())


def _hlo_from_json(data: int | None, pieces: Sequence[bytes]) -> Any:
    if data is None:
        return None
    proto = OpSharding()
    proto.ParseFromString(pieces[data])
    return HloSharding.from_proto(proto)


def _effects_to_json(effects: Sequence[Effect]) -> list[str]:
    names = {kind: name for name, kind in _EFFECTS.items()}
    for effect in effects:
        if type(effect) not in names:
            raise ValueError(f"programs with the effect {effect} cannot be serialized")
    return [names[type(effect)] for effect in effects]


def _effects_from_json(names: Sequence[str]) -> tuple[Effect, ...]:
    return tuple(_EFFECTS[name]() for name in names)
