# SPDX-License-Identifier: Apache-2.0
"""The optional library tensorstore."""

from __future__ import annotations

from typing import Any

try:
    import tensorstore
except ImportError as error:
    raise ImportError(
        "serialization of arrays needs the library tensorstore, which is not installed: "
        "`pip install tensorstore`",
        name="tensorstore",
    ) from error

ts: Any = tensorstore

__all__ = ["ts"]
