# SPDX-License-Identifier: Apache-2.0
"""Writing of exported functions as bytes; `format` describes the bytes."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_ir.types import dtypes
from olympus_ir.types.effects import Effect
from olympus_ir.types.memory_spaces import MemorySpace
from olympus_ir.types.placement import PartitionSpec

from ..trees import tree_to_json
from .format import EFFECTS, FORMAT_VERSION, LENGTHS, MAGIC

if TYPE_CHECKING:
    from .exported import Exported

__all__ = ["serialize", "to_parts"]


class _Pieces:
    """Collector of the pieces of data for a file."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def add(self, piece: bytes) -> int:
        self.pieces.append(bytes(piece))
        return len(self.pieces) - 1


def serialize(exported: Exported, vjp_order: int = 0) -> bytearray:
    """Returns an exported function as bytes; see `Exported.serialize`.

    Raises:
      ValueError: ``vjp_order`` is negative, a pytree of the function has a node of an unregistered
        type, or the function has an effect that cannot be serialized.
    """
    if vjp_order < 0:
        raise ValueError(f"vjp_order must be 0 or positive, got {vjp_order}")
    contents, pieces = to_parts(exported, vjp_order)
    header = json.dumps(
        {"exported": contents, "lengths": list(map(len, pieces))}, separators=(",", ":")
    ).encode()
    body = header + b"".join(pieces)
    lengths = LENGTHS.pack(FORMAT_VERSION, zlib.crc32(body), len(header))
    return bytearray(MAGIC + lengths + body)


def to_parts(exported: Exported, vjp_order: int = 0) -> tuple[dict[str, Any], list[bytes]]:
    """Returns an exported function as JSON and the pieces of data that the JSON refers to.

    Raises:
      ValueError: as for `serialize`.
    """
    pieces = _Pieces()
    return _to_json(exported, vjp_order, pieces), pieces.pieces


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
        "in_shardings_hlo": [
            _hlo_to_json(sharding, pieces) for sharding in exported.in_shardings_hlo
        ],
        "out_shardings_hlo": [
            _hlo_to_json(sharding, pieces) for sharding in exported.out_shardings_hlo
        ],
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


def _aval_to_json(aval: Any) -> list[Any]:
    shape = [size if type(size) is int else str(size) for size in aval.shape]
    space = getattr(aval, "memory_space", MemorySpace.Device)
    return [
        shape,
        dtypes.name_of(aval.dtype),
        aval.weak_type,
        _named_to_json(getattr(aval, "layout", None)),
        None if space is MemorySpace.Device else space.name,
    ]


def _constraints_to_json(exported: Exported) -> list[str] | None:
    """Returns the constraints on dimension variables as text; None if all shapes are fixed."""
    for aval in exported.in_avals:
        for size in aval.shape:
            scope = getattr(size, "scope", None)  # of symbolic sizes
            if scope is not None:
                return [constraint.text for constraint in scope.constraints]
    return None


def _named_to_json(sharding: Any) -> Any:
    if sharding is None:
        return None
    mesh, spec = sharding.mesh, sharding.spec
    device = mesh.abstract_mesh.abstract_device
    return {
        "memory_kind": sharding.memory_kind,
        "device": device and [device.device_kind, device.num_cores, device.platform],
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
        "unreduced": sorted(spec.unreduced),
        "reduced": sorted(spec.reduced),
    }


def _hlo_to_json(sharding: Any, pieces: _Pieces) -> int | None:
    return None if sharding is None else pieces.add(sharding.to_proto().SerializeToString())


def _effects_to_json(effects: Sequence[Effect]) -> list[str]:
    names = {kind: name for name, kind in EFFECTS.items()}
    for effect in effects:
        if type(effect) not in names:
            raise ValueError(f"programs with the effect {effect} cannot be serialized")
    return [names[type(effect)] for effect in effects]
