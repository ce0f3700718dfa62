# SPDX-License-Identifier: Apache-2.0
"""Python's control flow on traced values: ``if``, ``while``, ``for``, ``and``, ``or``, ``not``.

`with_control_flow` rewrites the syntax tree of a function so that each of these statements and
operators calls a function of `operators`, which decides when the program is traced: a known
condition is Python's own, a traced one becomes `lax.cond` or `lax.while_loop`.

The folder may import everything below `olympus_ir.references`; nothing below imports it.
"""

from .functions import with_control_flow

__all__ = ["with_control_flow"]
