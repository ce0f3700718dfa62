# SPDX-License-Identifier: Apache-2.0
"""Format of exported functions as bytes.

A file contains, in this order: a magic number, the version of the format, a checksum, the length of
the header, the header, and the pieces of data. The header is JSON and refers to each piece of data
by its index. Reading a file runs no code from it.
"""

from __future__ import annotations

import struct

from olympus_ir.types.effects import Effect
from olympus_xla.foreign.ffi_primitive import FfiEffect

__all__ = [
    "DAMAGE",
    "EFFECTS",
    "FORMAT_VERSION",
    "LENGTHS",
    "MAGIC",
    "READABLE_VERSIONS",
    "describe_damage",
]

MAGIC = b"\x89OLYMPUS-EXPORT\n"
# Version 2 added layouts and memory spaces to types, and memory kinds and devices to shardings.
FORMAT_VERSION = 2
READABLE_VERSIONS = (1, 2)
LENGTHS = struct.Struct("<IIQ")  # the fields: version of the format, checksum, length of the header

# Errors that the contents of a damaged file may cause.
DAMAGE = (KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError)


def describe_damage(error: Exception) -> str:
    """Returns the reason that a file is damaged, for an error that its contents caused."""
    if isinstance(error, KeyError):
        return f"it lacks {error}"
    if isinstance(error, TypeError | AttributeError):
        return "a field has a value of another kind"
    return f"{type(error).__name__}: {error}"


# Effects that exported programs may have, by name.
EFFECTS: dict[str, type[Effect]] = {"Ffi": FfiEffect}
