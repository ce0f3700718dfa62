# SPDX-License-Identifier: Apache-2.0
"""File format of frozen functions.

The files are safetensors files. The arrays of a file are the weights, and arrays of bytes:

- ``olympus.module``: the program, a portable artifact of StableHLO, which PJRT compiles.
- ``olympus.compile_options``: XLA's ``CompileOptionsProto``.
- ``olympus.part.N``: shardings of a program for several devices.

The metadata are strings:

- ``format`` and ``version`` name this layout.
- ``operands``: JSON, the operands of the program in order: the name, shape and dtype of each, and
  whether it is a weight. In a program for several platforms, the index of the current platform
  precedes these operands.
- ``results``: JSON, the results in the same form.
- ``signature``: JSON, the structures of arguments and results, and the other fields of `Exported`.
- ``weights_file`` and ``weights_digest``: the name and the SHA-256 of the separate file of weights,
  if there is one.
- ``digest``: the SHA-256 of the header without the digest, and of all arrays.

A file contains no Python code and no machine code, and reading it runs no code.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_ir.types import dtypes

from ..functions.exported import Exported
from ..functions.format import DAMAGE, describe_damage
from ..functions.reading import from_parts
from ..functions.writing import to_parts
from . import safetensors

__all__ = ["Parts", "Port", "opened", "ports_of", "sealed"]

FORMAT, VERSION = "olympus-frozen", "1"
MODULE, OPTIONS, PART = "olympus.module", "olympus.compile_options", "olympus.part."
RESERVED = "olympus."
_FILE_NAME = re.compile(r"[^/\\\0:]{1,255}")


class Port(NamedTuple):
    """Operand or result of a frozen program.

    Attributes:
      name: the name, such as ``params.w`` for ``params["w"]``.
      shape: the shape; symbolic sizes are strings.
      dtype: the name of the dtype.
      is_weight: whether the value is stored with the program.
    """

    name: str
    shape: tuple[int | str, ...]
    dtype: str
    is_weight: bool = False


class Parts(NamedTuple):
    """Parts of a frozen function.

    Attributes:
      exported: the program, a function of ``(weights, args, kwargs)``.
      names: the names of the program's operands, weights first.
      weights: the weights by name.
      options: XLA's compile options, serialized.
    """

    exported: Exported
    names: tuple[str, ...]
    weights: dict[str, np.ndarray]
    options: bytes


def ports_of(avals: Sequence[Any], names: Sequence[str], weights: int = 0) -> tuple[Port, ...]:
    """Returns a port for each type and name. The first ``weights`` ports are weights."""
    return tuple(
        Port(
            name,
            tuple(size if type(size) is int else str(size) for size in aval.shape),
            dtypes.name_of(aval.dtype),
            position < weights,
        )
        for position, (aval, name) in enumerate(zip(avals, names, strict=True))
    )


# ---- writing ----


def sealed(
    parts: Parts, results: Sequence[Port], beside: str | None = None
) -> tuple[bytes, bytes | None]:
    """Returns the contents of the function's file, and of its separate file of weights.

    Args:
      parts: the frozen function.
      results: the results of the program.
      beside: the name of the separate file of weights; None for weights in the same file.

    Raises:
      ValueError: a weight has a dtype that safetensors files do not have.
    """
    signature, pieces = to_parts(parts.exported)
    arrays = {MODULE: parts.exported.mlir_module_serialized, OPTIONS: parts.options}
    arrays |= {f"{PART}{index}": piece for index, piece in enumerate(pieces)}
    del arrays[f"{PART}{signature['module']}"]  # stored as MODULE
    operands = ports_of(parts.exported.in_avals, parts.names, len(parts.weights))
    metadata = {
        "format": FORMAT,
        "version": VERSION,
        "operands": _json([port._asdict() for port in operands]),
        "results": _json([port._asdict() for port in results]),
        "signature": _json(signature),
    }
    stored = dict(parts.weights)
    weights_file = None
    if beside is not None:
        weights_file = safetensors.write(stored, {})
        metadata |= {"weights_file": beside, "weights_digest": _sha256(weights_file)}
        stored = {}
    bytes_of = {name: np.frombuffer(piece, np.uint8) for name, piece in arrays.items()}
    everything = {**stored, **bytes_of}
    metadata["digest"] = _digest(everything, metadata)
    return safetensors.write(everything, metadata), weights_file


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _sha256(contents: bytes) -> str:
    return hashlib.sha256(contents).hexdigest()


def _digest(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> str:
    """Returns the digest of the arrays, their names and types, and the rest of the metadata."""
    texts = {name: text for name, text in metadata.items() if name != "digest"}
    digest = hashlib.sha256(safetensors.header_bytes(arrays, dict(sorted(texts.items()))))
    for array in arrays.values():
        digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()


# ---- reading ----


def opened(contents: bytes, read_beside: Callable[[str], bytes]) -> Parts:
    """Returns the parts of a frozen function from the contents of its file.

    Args:
      contents: the contents.
      read_beside: reads a file in the same folder, given its name.

    Raises:
      ValueError: the contents are not a frozen function, or are damaged.
    """
    try:
        arrays, metadata = safetensors.read(contents)
    except ValueError as error:
        raise ValueError(f"this is not a file of a frozen function: {error}") from None
    if metadata.get("format") != FORMAT:
        raise ValueError(
            f"this is not a file of a frozen function: its format is {metadata.get('format')!r}, "
            f"and `freeze` writes {FORMAT!r}"
        )
    if metadata.get("version") != VERSION:
        raise ValueError(
            f"the frozen function is in version {metadata.get('version')!r} of the format, and "
            f"this version of OLYMPUS reads {VERSION!r}"
        )
    if _digest(arrays, metadata) != metadata.get("digest"):
        raise ValueError("the frozen function is damaged: its digest differs")
    try:
        return _parts(arrays, metadata, read_beside)
    except DAMAGE as error:
        raise ValueError(f"the frozen function is damaged: {describe_damage(error)}") from None


def _parts(
    arrays: dict[str, np.ndarray],
    metadata: Mapping[str, str],
    read_beside: Callable[[str], bytes],
) -> Parts:
    signature = json.loads(metadata["signature"])
    pieces = {
        int(name.removeprefix(PART)): array.tobytes()
        for name, array in arrays.items()
        if name.startswith(PART)
    }
    pieces[signature["module"]] = arrays[MODULE].tobytes()
    exported = from_parts(signature, pieces)
    operands = json.loads(metadata["operands"])
    names = tuple(operand["name"] for operand in operands)
    stored = arrays
    if "weights_file" in metadata:
        stored = _weights_beside(metadata, read_beside)
    weights = {
        operand["name"]: stored[operand["name"]] for operand in operands if operand["is_weight"]
    }
    parts = Parts(exported, names, weights, arrays[OPTIONS].tobytes())
    _check(parts)
    return parts


def _weights_beside(
    metadata: Mapping[str, str], read_beside: Callable[[str], bytes]
) -> dict[str, np.ndarray]:
    name = metadata["weights_file"]
    if not _FILE_NAME.fullmatch(name) or name in (".", ".."):
        raise ValueError(
            f"the frozen function has its weights in {name!r}, which is not in the same folder"
        )
    contents = read_beside(name)
    if _sha256(contents) != metadata["weights_digest"]:
        raise ValueError(f"the weights in {name} are damaged, or are those of another function")
    return safetensors.read(contents).arrays


def _check(parts: Parts) -> None:
    """Raises ValueError if the weights do not have the types of the program's first operands."""
    avals = parts.exported.in_avals
    if len(avals) != len(parts.names):
        raise ValueError(
            f"the frozen function is damaged: it names {len(parts.names)} operands, and its "
            f"program takes {len(avals)}"
        )
    ports = ports_of(avals, parts.names, len(parts.weights))
    for port, (name, array) in zip(ports, parts.weights.items(), strict=False):
        if (name, array.shape, dtypes.name_of(array.dtype)) != (port.name, port.shape, port.dtype):
            raise ValueError(
                f"the frozen function is damaged: the weight {name} is {array.dtype}{array.shape}, "
                f"and the program takes {port.dtype}{port.shape}"
            )
