# SPDX-License-Identifier: Apache-2.0
"""The optional library tensorstore."""

from __future__ import annotations

from typing import Any

from ..optional_libraries import OptionalLibrary

__all__ = ["ts"]

ts: Any = OptionalLibrary("tensorstore", "serialization of arrays")
