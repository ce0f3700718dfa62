# SPDX-License-Identifier: Apache-2.0
"""The NumPy interface: ``import olympus.numpy as jnp``."""

from typing import Any

import olympus_numpy as _numpy
from olympus_numpy import *  # noqa: F403


def __getattr__(name: str) -> Any:
    return getattr(_numpy, name)


def __dir__() -> list[str]:
    return dir(_numpy)
