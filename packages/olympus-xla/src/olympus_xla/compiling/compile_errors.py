# SPDX-License-Identifier: Apache-2.0
"""Errors of the compiler, reworded in terms of the user's program."""

from __future__ import annotations

import re
from typing import Any

from .._jaxlib import JaxRuntimeError

_UNREGISTERED = re.compile(
    r"No FFI handler registered for (?P<typed>\S+) on"
    r"|No registered implementation for untyped custom call to (?P<untyped>\S+) for"
)


def raise_clear_error(error: Any, platform: str) -> None:
    """Raises an error with advice in place of the compiler's error."""
    found = _UNREGISTERED.search(str(error))
    if found is None:
        return
    name = found["typed"] or found["untyped"]
    version = "" if found["typed"] else ", api_version=0"
    raise JaxRuntimeError(
        f"NOT_FOUND: the program calls the foreign function {name!r}, and none is registered under "
        f"this name for the platform {platform!r}. Register it before the program is compiled: "
        f"olympus.ffi.register_ffi_target({name!r}, capsule, platform={platform!r}{version})."
    ) from error
