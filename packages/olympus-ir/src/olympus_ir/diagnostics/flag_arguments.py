# SPDX-License-Identifier: Apache-2.0
"""Names of the arguments in errors about arrays in the place of flags."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["name_flags"]

# Parameters with such a default choose what a function does.
_CHOICES = (bool, str, enum.Enum)


def name_flags(
    error: ValueError, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> None:
    """Names the parameters with arrays in an error about the truth value of an array.

    Args:
      error: the error, which is changed in place. It stays as it is if no flag is an array.
      fun: the function that was called.
      args: its positional arguments.
      kwargs: its keyword arguments.

    Example:
      >>> import numpy as np
      >>> def total(x, reverse=False): return x if reverse else -x
      >>> x = np.arange(2)
      >>> try:
      ...     total(1, x)
      ... except ValueError as error:
      ...     name_flags(error, total, (1, x), {})
      ...     print(error)
      total requires True or False for `reverse`, got an array of shape (2,)
    """
    try:
        signature = inspect.signature(fun)
        given = signature.bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return
    for name, value in given.items():
        default = signature.parameters[name].default
        shape = getattr(value, "shape", ())
        if isinstance(default, _CHOICES) and shape != ():
            wanted = "True or False" if type(default) is bool else f"a value such as {default!r}"
            error.args = (
                f"{fun.__name__} requires {wanted} for `{name}`, got an array of shape {shape}",
            )
            return
