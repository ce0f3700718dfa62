# SPDX-License-Identifier: Apache-2.0
"""Compiled functions as bytes, to be loaded by another process."""

from olympus_export.executables import deserialize_and_load, serialize

__all__ = ["deserialize_and_load", "serialize"]
