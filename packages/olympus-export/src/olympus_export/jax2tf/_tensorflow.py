# SPDX-License-Identifier: Apache-2.0
"""The optional library TensorFlow."""

from __future__ import annotations

import importlib
from typing import Any

from ..optional_libraries import OptionalLibrary

__all__ = ["tf", "xla_operations", "xla_sharding"]

tf: Any = OptionalLibrary("tensorflow", "jax2tf")


def xla_operations() -> Any:
    """Imports and returns TensorFlow's module of operations that run XLA programs."""
    return importlib.import_module("tensorflow.compiler.tf2xla.python.xla")


def xla_sharding() -> Any:
    """Imports and returns TensorFlow's module of sharding annotations."""
    return importlib.import_module("tensorflow.python.compiler.xla.experimental.xla_sharding")
