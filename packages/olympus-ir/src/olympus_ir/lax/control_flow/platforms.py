# SPDX-License-Identifier: Apache-2.0
"""Functions with different implementations for different platforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...programs.primitives import instruction
from ...types.annotations import PyTree
from ...types.avals import ShapedArray
from .conditionals import choose

# The index in `platforms` of the platform that runs the program. `platforms` is a tuple; its
# entries are tuples of names, or None for all other platforms. The index is an int32 scalar, known
# when the program is lowered.
platform_index_p = instruction("platform_index", family="control_flow")

Platforms = tuple[tuple[str, ...] | None, ...]


@platform_index_p.def_abstract_eval
def _platform_index_type(*, platforms: Platforms) -> ShapedArray:
    return ShapedArray((), np.dtype(np.int32))


def index_of_platform(platforms: Platforms, platform: str) -> int:
    """Returns the position of the entry that contains a platform.

    Raises:
      NotImplementedError: if no entry contains the platform.
    """
    for position, names in enumerate(platforms):
        if names is None or platform in names:
            return position
    all_names = [name for names in platforms if names for name in names]
    raise NotImplementedError(
        "lax.platform_dependent: translation rule for primitive 'platform_index' not found for "
        f"platform {platform}: there are functions for {all_names} and no `default`. Pass a "
        f"function for {platform}, or a default."
    )


def platform_dependent(
    *args: PyTree, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> PyTree:
    """Applies the function for the platform on which the program will run.

    All functions are traced. The compiled program contains only the function for its platform.

    Args:
      *args: the arguments of all functions, arrays or pytrees of arrays.
      default: the function for all other platforms.
      **per_platform: the functions by platform: ``cpu``, ``cuda``, ``rocm``, ``tpu``. Their results
        must have the same structure and types.

    Returns:
      The result of the selected function.

    Raises:
      TypeError: if no function is given, or results differ in structure or types.
      ValueError: if a platform is given as ``gpu``.
      NotImplementedError: at compilation, if there is no function for the platform.

    Example:
      >>> from olympus_ir import lax
      >>> platform_dependent(2.0, tpu=lax.exp, default=lax.neg)
      Array(-2., dtype=float32, weak_type=True)
    """
    for name, function in per_platform.items():
        if name == "gpu":
            raise ValueError("Use 'cuda' or 'rocm' for lax.platform_dependent, not 'gpu'.")
        if not callable(function):
            raise TypeError(f"lax.platform_dependent: the '{name}' branch must be a callable.")
    if default is not None and not callable(default):
        raise TypeError("lax.platform_dependent: the 'default' branch must be a callable.")
    # Platforms with the same function share a branch.
    functions: list[Callable[..., Any]] = []
    names_of: list[Sequence[str] | None] = []
    for name, function in per_platform.items():
        if function in functions:
            position = functions.index(function)
            names_of[position] = (*(names_of[position] or ()), name)
        else:
            functions.append(function)
            names_of.append((name,))
    if default is not None:
        functions.append(default)
        names_of.append(None)
    if not functions:
        raise TypeError("lax.platform_dependent requires at least 1 function, or a default.")
    platforms = tuple(None if names is None else tuple(names) for names in names_of)
    order = tuple(range(len(functions)))
    return choose(
        "switch",
        platform_index_p.bind(platforms=platforms),
        tuple(functions),
        order,
        tuple(f"branch {position}" for position in order),
        args,
        branches_platforms=platforms,
    )
