# SPDX-License-Identifier: Apache-2.0
"""`traced_call`, which traces a call of a function for a transformation of its program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import function_name

__all__ = ["traced_call"]


def traced_call(
    f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], transformation: str
) -> tuple[ClosedOlympuspr, Any]:
    """Traces a call of a function.

    Args:
      f: the function.
      args: its arguments, which may be traced. They are constants of the program.
      kwargs: its keyword arguments.
      transformation: the name of the transformation, for messages.

    Returns:
      A program without operands, and the tree structure of the function's result.
    """
    out_tree: Any = None

    def flat() -> Sequence[Any]:
        nonlocal out_tree
        leaves, out_tree = pytrees.tree_flatten(f(*args, **kwargs))
        return leaves

    flat.__name__ = function_name(f)
    return trace_to_closed(flat, (), DebugInfo.of(transformation, flat)), out_tree
