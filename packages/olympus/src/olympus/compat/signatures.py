# SPDX-License-Identifier: Apache-2.0
"""Conversion between the positions and the names of arguments, by a function's signature."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

__all__ = ["infer_argnums_and_argnames"]


def infer_argnums_and_argnames(
    sig: inspect.Signature,
    argnums: int | Iterable[int] | None,
    argnames: str | Iterable[str] | None,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Infers the positions of arguments from their names, or the names from the positions.

    Args:
      sig: the function's signature.
      argnums: the positions of arguments.
      argnames: the names of arguments.

    Returns:
      The positions and the names, as tuples. Positions and names that the caller gives are not
      changed, even if the signature lacks them.

    Example:
      >>> infer_argnums_and_argnames(inspect.signature(lambda x, y: x), 1, None)
      ((1,), ('y',))
    """
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums or ())
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames or ())
    named = [
        (number, parameter.name)
        for number, parameter in enumerate(sig.parameters.values())
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    if argnames is None:
        names = tuple(name for number, name in named if number in numbers)
    elif argnums is None:
        numbers = tuple(number for number, name in named if name in names)
    return numbers, names
