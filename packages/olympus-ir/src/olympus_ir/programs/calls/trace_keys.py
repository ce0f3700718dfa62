# SPDX-License-Identifier: Apache-2.0
"""Keys of traced programs: all inputs of a trace except the function itself."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...types.avals import AbstractValue
from .options import JitOptions

__all__ = ["TraceKey"]


class TraceKey(NamedTuple):
    """Key of a traced program among the programs of its function.

    A plain tuple of the same values is an equal key.

    Attributes:
      options: the options of `jit`.
      in_tree: the structure of ``(args, kwargs)`` without static arguments.
      avals: the types of the leaves.
      statics: the static arguments. Empty if there are none; otherwise the number of positional
        arguments, a triple ``(position, type, value)`` for each static positional argument, and a
        triple ``(name, type, value)`` for each static keyword argument.
      axes: the named axes in scope.
      context: the configuration that programs depend on.
    """

    options: JitOptions
    in_tree: Any
    avals: tuple[AbstractValue, ...]
    statics: tuple
    axes: Any
    context: tuple
