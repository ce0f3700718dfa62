# SPDX-License-Identifier: Apache-2.0
"""Optional libraries, which only some functions need."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["OptionalLibrary"]


class OptionalLibrary:
    """Stand-in for an optional module. The first use of an attribute imports the module.

    Args:
      name: the name of the module and of its distribution.
      purpose: the feature that needs the module, for the error if the module is missing.

    Example:
      >>> json = OptionalLibrary("json", "this example")
      >>> json.dumps([1])
      '[1]'
    """

    def __init__(self, name: str, purpose: str) -> None:
        self._name = name
        self._purpose = purpose

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # Python's own modules look up such names in any object
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
