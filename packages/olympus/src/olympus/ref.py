# SPDX-License-Identifier: Apache-2.0
"""Mutable references to arrays: making them, reading, writing and adding in place."""

from olympus_ir.lax.references import addupdate as addupdate
from olympus_ir.lax.references import empty_ref as empty_ref
from olympus_ir.lax.references import free_ref as free_ref
from olympus_ir.lax.references import freeze as freeze
from olympus_ir.lax.references import get as get
from olympus_ir.lax.references import new_ref as new_ref
from olympus_ir.lax.references import set as set
from olympus_ir.lax.references import swap as swap
from olympus_ir.references.types import AbstractRef as AbstractRef
from olympus_ir.references.values import Ref as Ref
