# SPDX-License-Identifier: Apache-2.0
"""The optional library TensorFlow."""

from __future__ import annotations

import importlib
from typing import Any

try:
    tf: Any = importlib.import_module("tensorflow")
except ImportError as error:
    raise ImportError(
        "jax2tf needs the library TensorFlow, which is not installed: `pip install tensorflow`",
        name="tensorflow",
    ) from error

__all__ = ["tf", "xla_operations", "xla_sharding"]


def xla_operations() -> Any:
    """The operations through which TensorFlow runs programs of XLA's."""
    return importlib.import_module("tensorflow.compiler.tf2xla.python.xla")


def xla_sharding() -> Any:
    """The annotations of how tensors are split over devices."""
    return importlib.import_module("tensorflow.python.compiler.xla.experimental.xla_sharding")
