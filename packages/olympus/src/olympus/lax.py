# SPDX-License-Identifier: Apache-2.0
"""The instruction set: operations that NumPy's interface is composed of."""

from typing import Any

import olympus_ir.lax as _lax
from olympus_ir.lax import *  # noqa: F403


def __getattr__(name: str) -> Any:
    return getattr(_lax, name)


def __dir__() -> list[str]:
    return dir(_lax)
