# SPDX-License-Identifier: Apache-2.0
"""Compiled functions as bytes, to be loaded by another process."""

from olympus_export.executables import deserialize_and_load, serialize

from .._faces import present as _present

__all__ = ["deserialize_and_load", "serialize"]

_present(__name__)
