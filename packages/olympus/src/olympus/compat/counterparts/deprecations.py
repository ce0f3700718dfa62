# SPDX-License-Identifier: Apache-2.0
"""Registered deprecations of libraries, under the names of JAX's private module.

A deprecated use warns until its deprecation is accelerated; then it raises an error. The
identifiers that JAX registers are known here, so that tests can ask for them. OLYMPUS's own
deprecated names always warn, whatever is accelerated.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

__all__ = [
    "DeprecationState",
    "accelerate",
    "accelerate_getattr_deprecation",
    "deprecation_getattr",
    "is_accelerated",
    "is_accelerated_attribute",
    "register",
    "registered",
    "unregister",
    "warn",
]


@dataclass
class DeprecationState:
    """State of a deprecation.

    Attributes:
      accelerated: whether the deprecated use raises an error.
    """

    accelerated: bool = False


registered: dict[str, DeprecationState] = {
    name: DeprecationState()
    for name in (
        "jax-array-numpy-dtype",
        "jax-array-positional-args",
        "jax-nn-one-hot-float-input",
        "jax-numpy-astype-complex-to-real",
        "jax-pallas-call-mgpu",
        "jax-pallas-mgpu-shapes-types",
    )
}


def _state(deprecation_id: str) -> DeprecationState:
    if deprecation_id not in registered:
        raise ValueError(f"{deprecation_id=} not registered.")
    return registered[deprecation_id]


def register(deprecation_id: str) -> None:
    """Adds a deprecation, unless it is there."""
    registered.setdefault(deprecation_id, DeprecationState())


def unregister(deprecation_id: str) -> None:
    """Removes a deprecation.

    Raises:
      ValueError: it is not registered.
    """
    _state(deprecation_id)
    del registered[deprecation_id]


def accelerate(deprecation_id: str) -> None:
    """Makes a deprecated use raise an error.

    Raises:
      ValueError: the deprecation is not registered.
    """
    _state(deprecation_id).accelerated = True


def is_accelerated(deprecation_id: str) -> bool:
    """Returns whether a deprecated use raises an error.

    Raises:
      ValueError: the deprecation is not registered.
    """
    return _state(deprecation_id).accelerated


def warn(
    deprecation_id: str,
    message: str,
    stacklevel: int,
    *,
    error_class: type[Exception] = ValueError,
) -> None:
    """Warns of a deprecated use, or raises an error if the deprecation is accelerated.

    Args:
      deprecation_id: the identifier of the deprecation.
      message: the text.
      stacklevel: the number of calls between the deprecated use and this function.
      error_class: the class of the error.

    Example:
      >>> register("example-of-a-deprecation")
      >>> accelerate("example-of-a-deprecation")
      >>> warn("example-of-a-deprecation", "This is gone.", 1)
      Traceback (most recent call last):
      ...
      ValueError: This is gone.
    """
    if is_accelerated(deprecation_id):
        raise error_class(message)
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel + 1)


# ---- deprecated names of modules ----


def deprecation_getattr(
    module: str, deprecations: dict[str, tuple[str, Any]]
) -> Callable[[str], Any]:
    """Returns the ``__getattr__`` of a module with deprecated names.

    Args:
      module: the name of the module.
      deprecations: maps each name to a text and a value. A use of the name warns, or raises an
        `AttributeError` if the value is None.
    """

    @functools.cache
    def __getattr__(name: str) -> Any:
        if name not in deprecations:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        message, value = deprecations[name]
        if value is None:
            raise AttributeError(message)
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return value

    return __getattr__


def accelerate_getattr_deprecation(module: ModuleType, name: str) -> None:
    """Makes a use of a deprecated name of a module raise an error."""
    deprecations: Any = getattr(module, "_deprecations")  # noqa: B009 - of no known type
    message, _ = deprecations[name]
    deprecations[name] = message, None


def is_accelerated_attribute(module: ModuleType, name: str) -> bool:
    """Returns whether a use of a deprecated name of a module raises an error."""
    deprecations: Any = getattr(module, "_deprecations")  # noqa: B009 - of no known type
    return deprecations[name][1] is None
