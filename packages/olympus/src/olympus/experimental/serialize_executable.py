# SPDX-License-Identifier: Apache-2.0
"""Serialization of compiled functions, so that another process can load them."""

from olympus_export.executables import deserialize_and_load, serialize

from .._faces import present as _present

__all__ = ["deserialize_and_load", "serialize"]

_present(__name__)
