# SPDX-License-Identifier: Apache-2.0
"""Types for annotations."""

from olympus_ir.types.annotations import ArrayLike as ArrayLike
from olympus_ir.types.annotations import DTypeLike as DTypeLike
from olympus_ir.types.annotations import PyTree as PyTree
from olympus_ir.types.annotations import Shape as Shape
from olympus_ir.types.annotations import SupportsDType as SupportsDType

from ._faces import present as _present

__all__ = ["ArrayLike", "DTypeLike", "PyTree", "Shape"]

_present(__name__)
