# SPDX-License-Identifier: Apache-2.0
"""Format of exported functions as bytes.

A file is a magic number, the version of the format, a checksum, the length of a header, the header
as JSON, and the pieces of data to which the header refers by number, one after the other. Reading
runs no code of the file.
"""

from __future__ import annotations

import struct

from olympus_ir.types.effects import Effect
from olympus_xla.foreign.ffi_primitive import FfiEffect

__all__ = ["EFFECTS", "FORMAT_VERSION", "LENGTHS", "MAGIC", "READABLE_VERSIONS"]

MAGIC = b"\x89OLYMPUS-EXPORT\n"
FORMAT_VERSION = 2  # 2: types have layouts and memory spaces, shardings memory kinds and devices
READABLE_VERSIONS = (1, 2)
LENGTHS = struct.Struct("<IIQ")  # version of the format, checksum, length of the header

# Effects that exported programs may have, by name.
EFFECTS: dict[str, type[Effect]] = {"Ffi": FfiEffect}
