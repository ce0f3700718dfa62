# SPDX-License-Identifier: Apache-2.0
"""Libraries that some functions need, and that need not be installed for all others."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["OptionalLibrary"]


class OptionalLibrary:
    """Stands for a module, which is imported when something of it is wanted.

    Args:
      name: of the module, and of the distribution that brings it.
      purpose: what needs it, for the message where it is missing.

    Example:
      >>> json = OptionalLibrary("json", "this example")
      >>> json.dumps([1])
      '[1]'
    """

    def __init__(self, name: str, purpose: str) -> None:
        self._name = name
        self._purpose = purpose

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # asked by Python's own tools, of any object
            raise AttributeError(attribute)
        try:
            module = importlib.import_module(self._name)
        except ImportError as error:
            raise ImportError(
                f"{self._purpose} needs the library {self._name}, which is not installed: "
                f"`pip install {self._name}`",
                name=self._name,
            ) from error
        return getattr(module, attribute)
