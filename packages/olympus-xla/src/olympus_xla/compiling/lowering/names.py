# SPDX-License-Identifier: Apache-2.0
"""The names of operations as profiles and compiled programs show them.

An operation is named by what it is in: ``jit(f)/layer/while/body/sin``. XLA puts the name of a call
before those of the operations of the function called, so names in functions begin anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from olympus_ir.diagnostics.name_stacks import name_stack_text

from . import mlir

if TYPE_CHECKING:
    from .context import LoweringContext

# What names in a function that is called begin with.
IN_FUNCTIONS = ""


def scope_of(context: LoweringContext, name: str) -> str:
    """What names within a part of the equation being lowered begin with.

    Args:
      context: the block and the equation.
      name: of the part, such as ``"while/body"``.
    """
    equation = context.equation
    names = "" if equation is None else name_stack_text(equation.source_info.name_stack)
    return "/".join(filter(None, (context.name_prefix, names, name)))


def name_call(context: LoweringContext, name: str) -> None:
    """Names the operations that the equation being lowered is made of otherwise than it is."""
    traceback = context.equation.source_info.traceback
    context.location = mlir.traceback_location(traceback, scope_of(context, name))
