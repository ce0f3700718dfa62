# SPDX-License-Identifier: Apache-2.0
"""Decorators that compile the functions of this package.

Each function is written once, over the operations of `olympus_ir.lax`. The evaluator in use runs
it. With olympus-xla an eager call is one call of a compiled program. A call under a trace records
one ``jit`` equation. If the decorator has ``inline``, the call runs the Python function instead,
which receives numbers and NumPy arrays unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from olympus_ir.programs.jit import jit

__all__ = ["compiled", "inlined", "outlined", "unless_default"]

F = TypeVar("F", bound=Callable[..., Any])


def inlined(*static_argnames: str) -> Callable[[F], F]:
    """Returns a decorator that compiles eager calls and inlines traced calls."""
    return lambda fun: compiled(fun, static_argnames, inline=True)


def outlined(*static_argnames: str) -> Callable[[F], F]:
    """Returns a decorator that compiles eager calls and records traced calls as equations."""
    return lambda fun: compiled(fun, static_argnames)


def compiled(
    fun: Callable[..., Any],
    static_argnames: Sequence[str] = (),
    *,
    inline: bool = False,
    name: str | None = None,
) -> Any:
    """Compiles a function; a call under a trace is one equation unless ``inline``.

    Args:
      fun: the function.
      static_argnames: names of the static arguments; their values become constants of the program.
      inline: whether the equations of the function replace the ``jit`` equation.
      name: the name of the equation; the function's name if it is None.
    """
    options: dict[str, Any] = {"inline": inline, "plain_arguments": True}
    if static_argnames:
        options["static_argnames"] = tuple(static_argnames)
    if name is not None:
        options["name"] = name
    return jit(fun, **options)


def unless_default(value: Any, default: float) -> Any:
    """Returns an argument of a compiled function, with None in place of the default value.

    None is not an operand, so a call without the argument copies nothing to a device.
    """
    return None if value.__class__ is default.__class__ and value == default else value
