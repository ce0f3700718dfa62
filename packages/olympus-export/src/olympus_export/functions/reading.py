# SPDX-License-Identifier: Apache-2.0
"""Reading of exported functions from bytes; `format` describes the bytes."""

from __future__ import annotations

import copyreg
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from olympus_ir.loading import deferred
from olympus_ir.symbolic import SymbolicScope, symbolic_shape
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.effects import Effect
from olympus_ir.types.extended_dtypes import ExtendedDType
from olympus_ir.types.memory_spaces import MemorySpace
from olympus_ir.types.placement import AbstractDevice, AbstractMesh, AxisType, PartitionSpec
from olympus_sharding import NamedSharding
from olympus_xla._jaxlib import HloSharding, OpSharding

from ..trees import tree_from_json
from .exported import Exported
from .format import DAMAGE, EFFECTS, LENGTHS, MAGIC, READABLE_VERSIONS, describe_damage
from .safety_checks import DisabledSafetyCheck

if TYPE_CHECKING:
    from . import vetting
else:
    vetting = deferred(".vetting", milliseconds=2.0)

__all__ = ["deserialize", "from_parts", "vet_programs"]


def deserialize(blob: bytes | bytearray, *, untrusted: bool = False) -> Exported:
    """Returns the exported function that `Exported.serialize` turned into bytes.

    Args:
      blob: the bytes that `Exported.serialize` returned.
      untrusted: whether the bytes may come from an untrusted source. Another process then reads the
        program first, so malicious bytes can crash only that process. The first use in a process
        takes a second or two.

    Raises:
      ValueError: ``blob`` is not an exported function, is damaged, or is in an unknown version of
        the format.

    Example:
      >>> import olympus
      >>> from olympus import export
      >>> blob = export.export(olympus.jit(lambda x: 2 * x))(1.0).serialize()
      >>> deserialize(blob).call(3.0)
      Array(6., dtype=float32, weak_type=True)
    """
    blob = bytes(blob)
    if not blob.startswith(MAGIC):
        raise ValueError(
            "deserialize: these bytes are not an exported function of OLYMPUS. It accepts the "
            f"bytes that Exported.serialize returned; these begin with {blob[:16]!r}."
        )
    start = len(MAGIC) + LENGTHS.size
    if len(blob) < start:
        raise ValueError(f"deserialize: the exported function is cut off after {len(blob)} bytes")
    version, checksum, header_length = LENGTHS.unpack_from(blob, len(MAGIC))
    if version not in READABLE_VERSIONS:
        raise ValueError(
            f"deserialize: the exported function is in version {version} of the format, and this "
            f"version of OLYMPUS reads {', '.join(map(str, READABLE_VERSIONS))}"
        )
    body = memoryview(blob)[start:]
    if zlib.crc32(body) != checksum:
        raise ValueError(
            "deserialize: the exported function is damaged or cut off: its checksum differs"
        )
    try:
        exported = _from_body(body, header_length)
    except DAMAGE as error:
        raise ValueError(
            f"deserialize: the exported function is damaged: {describe_damage(error)}"
        ) from None
    if untrusted:
        vet_programs(exported)
    return exported


def vet_programs(exported: Exported) -> None:
    """Checks in another process that the programs of a function and its derivatives can be read.

    Raises:
      ValueError: a program is damaged.
    """
    vetting.vet(exported.mlir_module_serialized)
    while exported.has_vjp():
        exported = exported.vjp()
        vetting.vet(exported.mlir_module_serialized)


def _reduced(exported: Exported) -> tuple[Any, tuple[bytes]]:
    """Reduces an exported function for `pickle` to its serialized bytes, without derivatives."""
    return deserialize, (bytes(exported.serialize()),)


copyreg.pickle(Exported, _reduced)


def _from_body(body: memoryview, header_length: int) -> Exported:
    try:
        header = json.loads(bytes(body[:header_length]).decode())
    except ValueError as error:
        raise ValueError(f"deserialize: the exported function is damaged: {error}") from None
    pieces, position = [], header_length
    for length in header["lengths"]:
        pieces.append(bytes(body[position : position + length]))
        position += length
    if position != len(body):
        raise ValueError(
            f"deserialize: the exported function is damaged: its parts have {position} bytes, and "
            f"there are {len(body)}"
        )
    return from_parts(header["exported"], pieces)


def from_parts(contents: dict[str, Any], pieces: Sequence[bytes] | Mapping[int, bytes]) -> Exported:
    """Returns an exported function from its JSON and the pieces of data, by index.

    Raises:
      ValueError: the fields are inconsistent. Fields that are missing, or have values of other
        kinds, raise the errors of Python.
    """
    return _checked(_from_json(contents, pieces))


def _checked(exported: Exported) -> Exported:
    """Checks that the fields of an exported function are consistent, and returns the function.

    Raises:
      ValueError: the fields are inconsistent.
    """
    num_in, num_out = len(exported.in_avals), len(exported.out_avals)
    kept_indices = exported.module_kept_var_idx
    fits = (
        exported.in_tree.num_leaves == num_in
        and exported.out_tree.num_leaves == num_out
        and len(exported._in_named_shardings) == len(exported.in_shardings_hlo) == num_in
        and len(exported._out_named_shardings) == len(exported.out_shardings_hlo) == num_out
        and list(kept_indices) == sorted(set(kept_indices) & set(range(num_in)))
        and all(isinstance(platform, str) for platform in exported.platforms)
        and isinstance(exported.fun_name, str)
        and isinstance(exported.nr_devices, int)
    )
    if not fits:
        raise ValueError("deserialize: the exported function is damaged: its fields do not fit")
    return exported


def _from_json(data: dict[str, Any], pieces: Sequence[bytes] | Mapping[int, bytes]) -> Exported:
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


def _aval_from_json(data: list[Any], scope: Any) -> ShapedArray:
    shape, dtype, weak_type, *placement = data  # version 1 of the format has no placement
    sizes = tuple(_size_from_json(size, scope) if type(size) is str else size for size in shape)
    layout, space = placement or (None, None)
    return ShapedArray(
        sizes,
        _dtype_of_name(dtype),
        weak_type,
        sharding=_named_from_json(layout),
        memory_space=MemorySpace.Device if space is None else MemorySpace[space],
    )


def _size_from_json(text: str, scope: Any) -> Any:
    return symbolic_shape(text, scope=scope)[0]


def _scope_from_json(constraints: list[str] | None) -> Any:
    if constraints is None:
        return None
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


def _named_from_json(data: Any) -> Any:
    if data is None:
        return None
    mesh = AbstractMesh(
        tuple(data["axis_sizes"]),
        tuple(data["axis_names"]),
        axis_types=tuple(AxisType[name] for name in data["axis_types"]),
        abstract_device=AbstractDevice(*data["device"]) if data.get("device") else None,
    )
    entries = [
        PartitionSpec.UNCONSTRAINED
        if isinstance(entry, dict)
        else tuple(entry)
        if isinstance(entry, list)
        else entry
        for entry in data["spec"]
    ]
    spec = PartitionSpec(
        *entries,
        unreduced=frozenset(data.get("unreduced", ())),
        reduced=frozenset(data.get("reduced", ())),
    )
    return NamedSharding(mesh, spec, memory_kind=data.get("memory_kind"))


def _hlo_from_json(data: int | None, pieces: Sequence[bytes] | Mapping[int, bytes]) -> Any:
    if data is None:
        return None
    proto = OpSharding()
    proto.ParseFromString(pieces[data])
    return HloSharding.from_proto(proto)


def _effects_from_json(names: Sequence[str]) -> tuple[Effect, ...]:
    return tuple(EFFECTS[name]() for name in names)
