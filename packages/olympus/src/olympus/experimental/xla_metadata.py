# SPDX-License-Identifier: Apache-2.0
"""Metadata that is attached to operations of compiled programs."""

from olympus_ir.lax.annotating import set_xla_metadata

__all__ = ["set_xla_metadata"]
