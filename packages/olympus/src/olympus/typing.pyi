# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.lax.core.values import ArrayLike as ArrayLike
from olympus_ir.trees.structures import PyTree as PyTree
from olympus_ir.types.annotations import DTypeLike as DTypeLike
from olympus_ir.types.annotations import Shape as Shape
from olympus_ir.types.annotations import SupportsDType as SupportsDType
