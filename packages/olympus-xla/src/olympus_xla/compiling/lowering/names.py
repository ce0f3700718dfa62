# SPDX-License-Identifier: Apache-2.0
"""The names of operations that profiles and compiled programs show.

The name of an operation includes its scopes, as in ``jit(f)/layer/while/body/sin``. XLA puts the
name of a call before the names of the called function's operations. So the names within a function
start without the outer scopes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from olympus_ir.diagnostics.name_stacks import name_stack_text

from . import mlir

if TYPE_CHECKING:
    from .context import LoweringContext

# The prefix of names in a called function.
IN_FUNCTIONS = ""


def scope_of(context: LoweringContext, name: str) -> str:
    """Returns the prefix of names within a part of the equation being lowered.

    Args:
      context: the block and the equation.
      name: the name of the part, such as ``"while/body"``.
    """
    equation = context.equation
    names = "" if equation is None else name_stack_text(equation.source_info.name_stack)
    return "/".join(filter(None, (context.name_prefix, names, name)))


def name_call(context: LoweringContext, name: str) -> None:
    """Sets another name for the operations of the equation being lowered."""
    traceback = context.equation.source_info.traceback
    names = scope_of(context, name)
    context.location = mlir.traceback_location(traceback, names, context.callers)
