# SPDX-License-Identifier: Apache-2.0
"""Metadata that is attached to operations of compiled programs."""

from olympus_ir.lax.annotations.functions import set_xla_metadata

from .._faces import present as _present

__all__ = ["set_xla_metadata"]

_present(__name__)
