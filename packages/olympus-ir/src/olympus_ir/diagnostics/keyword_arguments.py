# SPDX-License-Identifier: Apache-2.0
"""Advice in errors about unknown keyword arguments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from .suggestions import nearest

__all__ = ["advise"]

# Maps parameter names of other libraries to OLYMPUS's names.
_HABITS = {
    "dim": "axis",
    "dims": "axis",
    "axes": "axis",
    "axis": "axes",
    "keepdim": "keepdims",
    "keep_dims": "keepdims",
    "input": "x",
    "other": "x2",
    "size": "shape",
    "requires_grad": "",
    "inplace": "",
}
_REASONS = {
    "requires_grad": "Arrays do not record gradients: use `olympus.grad` of a function.",
    "inplace": "Arrays are immutable: the function returns a new array.",
}
_UNEXPECTED = re.compile(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'$")


def advise(error: TypeError, fun: Callable[..., Any]) -> None:
    """Adds the probably meant parameter to an error about an unknown keyword argument.

    Args:
      error: the error, which is changed in place.
      fun: the function that was called.

    Example:
      >>> def total(x, axis=None): return x
      >>> try:
      ...     total(1, dim=0)
      ... except TypeError as error:
      ...     advise(error, total)
      ...     print(error)
      total() got an unexpected keyword argument 'dim'. Did you mean: 'axis'?
    """
    found = _UNEXPECTED.search(str(error))
    if found is None or found[1] != getattr(fun, "__name__", None):
        return
    try:
        names = list(inspect.signature(fun).parameters)
    except (TypeError, ValueError):
        return
    name = found[2]
    meant = _HABITS.get(name)
    if meant not in names:
        meant = nearest(name, names)
    advice = _REASONS.get(name) or (f"Did you mean: {meant!r}?" if meant else "")
    parameters = "" if advice else f"Its parameters are {', '.join(names)}."
    error.args = (f"{error}. {advice or parameters}",)
