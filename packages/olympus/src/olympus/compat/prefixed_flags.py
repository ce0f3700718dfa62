# SPDX-License-Identifier: Apache-2.0
"""Flags by their full names, such as ``olympus_platforms``, as attributes of this module."""

from __future__ import annotations

from olympus_ir.settings.config import config
from olympus_ir.settings.configuration import PREFIX, Flag


def __getattr__(name: str) -> Flag:
    if not name.startswith(PREFIX):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return config.flag(name)
