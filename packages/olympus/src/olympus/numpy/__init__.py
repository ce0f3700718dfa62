# SPDX-License-Identifier: Apache-2.0
"""The NumPy interface: ``import olympus.numpy as jnp``."""

from typing import Any

import olympus_numpy as _numpy
from olympus_numpy import *  # noqa: F403


def __getattr__(name: str) -> Any:
    # What olympus-numpy loads when it is first used; kept, so that this runs once for each name.
    value = globals()[name] = getattr(_numpy, name)
    return value


def __dir__() -> list[str]:
    return dir(_numpy)
