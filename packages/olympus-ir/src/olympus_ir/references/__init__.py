# SPDX-License-Identifier: Apache-2.0
"""Mutable references to arrays that are read and written in place while a program runs.

A reference is a value of type `AbstractRef` (`olympus_ir.types.references`). The primitives `get`,
`swap` and `addupdate` (`primitives`) read a reference, write it, and add to it. A chain of
transforms selects the part to access (`transforms`, and above all `indexing.NDIndexer`). The
operands are the reference, the value to write, and the leaves of the transforms, whose structure is
the parameter ``tree``. `discharge` converts a program with references to a pure program, which is
compiled.

This package may import `lax` and the packages below it.
"""

# These imports register tracers of references, and the kind of programs that take references,
# before any reference is made.
from . import traced_programs as traced_programs
from . import values as values
