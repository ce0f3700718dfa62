# SPDX-License-Identifier: Apache-2.0
"""Python's control flow on traced values: ``if``, ``while``, ``for``, ``and``, ``or``, ``not``.

`with_control_flow` rewrites the syntax tree of a function: it replaces each of these statements and
operators with a call of a function of `operators`. These functions examine the condition while the
program is traced. Python evaluates a known condition; for a traced condition, they apply `lax.cond`
or `lax.while_loop`.

This folder may import all layers below `olympus_ir.references`. No lower layer imports this folder.
"""

from .functions import with_control_flow

__all__ = ["with_control_flow"]
