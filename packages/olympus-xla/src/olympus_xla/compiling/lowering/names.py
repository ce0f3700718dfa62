# SPDX-License-Identifier: Apache-2.0
"""Names of operations, as shown in profiles and compiled programs.

The name of an operation includes its scopes, as in ``jit(f)/layer/while/body/sin``. XLA prefixes
the names of a called function's operations with the name of the call, so names within a function do
not repeat the outer scopes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from olympus_ir.diagnostics.name_stacks import name_stack_text

from . import mlir

if TYPE_CHECKING:
    from .context import LoweringContext

# The prefix of names in a called function, which is empty.
IN_FUNCTIONS = ""


def scope_of(context: LoweringContext, name: str) -> str:
    """Returns the prefix of names within a part of the current equation.

    Args:
      context: the block and the equation.
      name: the name of the part, such as ``"while/body"``.
    """
    equation = context.equation
    names = "" if equation is None else name_stack_text(equation.source_info.name_stack)
    return "/".join(filter(None, (context.name_prefix, names, name)))


def name_call(context: LoweringContext, name: str) -> None:
    """Sets another name for the operations of the current equation."""
    _set_name(context, scope_of(context, name))


def name_scope(context: LoweringContext, name: str) -> None:
    """Adds a name to the scopes of the current equation's operations.

    The names of enclosing transformations are written around it, as in ``vmap(jit(f))``.
    """
    names = context.equation.source_info.name_stack
    _set_name(
        context, "/".join(filter(None, (context.name_prefix, name_stack_text((*names, name)))))
    )


def _set_name(context: LoweringContext, names: str) -> None:
    traceback = context.equation.source_info.traceback
    context.location = mlir.traceback_location(traceback, names, context.callers)
