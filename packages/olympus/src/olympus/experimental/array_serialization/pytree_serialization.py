# SPDX-License-Identifier: Apache-2.0
"""Stores pytrees of arrays in folders."""

from olympus_export.array_serialization.pytree import (
    load,
    load_pytreedef,
    nonblocking_load,
    nonblocking_save,
    save,
)

from ..._faces import present as _present

__all__ = ["load", "load_pytreedef", "nonblocking_load", "nonblocking_save", "save"]

_present(__name__)
