# SPDX-License-Identifier: Apache-2.0
"""Mutable references to arrays: making them, reading, writing and adding in place."""

from olympus_ir.references.primitives import addupdate as addupdate
from olympus_ir.references.primitives import empty_ref as empty_ref
from olympus_ir.references.primitives import free_ref as free_ref
from olympus_ir.references.primitives import freeze as freeze
from olympus_ir.references.primitives import get as get
from olympus_ir.references.primitives import new_ref as new_ref
from olympus_ir.references.primitives import set as set
from olympus_ir.references.primitives import swap as swap
from olympus_ir.references.values import Ref as Ref
from olympus_ir.types.references import AbstractRef as AbstractRef

from ._faces import present as _present

_present(__name__)
