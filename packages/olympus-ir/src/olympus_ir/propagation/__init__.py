# SPDX-License-Identifier: Apache-2.0
"""Propagation rules of the instruction set, which infer layouts of results from operands.

The table is `olympus_ir.programs.propagation.propagation_rules`. Each file has the name of a family
of primitives. The table imports the files when they are needed for an operand with a layout. A
primitive of a higher package has its rule in that package.

May import `lax` and below.
"""
