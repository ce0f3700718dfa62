# SPDX-License-Identifier: Apache-2.0
"""Cached parsing of MLIR types and attributes from text."""

from __future__ import annotations

import functools
import io
from collections.abc import Sequence
from typing import Any

from olympus_xla._jaxlib import register_kernel_dialect
from olympus_xla.compiling.lowering import mlir
from olympus_xla.compiling.lowering.mlir import ir

__all__ = ["bytecode", "i32_array", "index_type", "parsed_type", "type_attribute", "use_dialect"]


@functools.cache
def use_dialect(name: str) -> None:
    """Loads a dialect of kernels, ``"triton"`` or ``"tpu"``, before its first use."""
    register_kernel_dialect(mlir.context(), name)


@functools.cache
def parsed_type(text: str) -> Any:
    """Returns a type from its text, such as ``!tt.ptr<f32>``."""
    return ir.Type.parse(text, context=mlir.context())


@functools.cache
def index_type() -> Any:
    return ir.IndexType.get(context=mlir.context())


def i32_array(values: Sequence[int]) -> Any:
    """Returns a dense array of 32-bit integers, as an attribute."""
    return _i32_array(tuple(map(int, values)))


@functools.cache
def _i32_array(values: tuple[int, ...]) -> Any:
    return ir.DenseI32ArrayAttr.get(list(values), context=mlir.context())


def type_attribute(mlir_type: Any) -> Any:
    return ir.TypeAttr.get(mlir_type, context=mlir.context())


def bytecode(operation: Any, version: int | None = None) -> bytes:
    """Returns an operation in MLIR's bytecode."""
    buffer = io.BytesIO()
    operation.write_bytecode(buffer, desired_version=version)
    return buffer.getvalue()
