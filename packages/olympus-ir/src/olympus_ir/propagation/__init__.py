# SPDX-License-Identifier: Apache-2.0
"""Propagation rules of the instruction set, which infer layouts of results from operands.

The table is `olympus_ir.programs.propagation.propagation_rules`. Each file holds the rules of one
family of primitives. The table imports a file at the first operation on an operand with a layout.
Higher packages define the rules of their own primitives.

This package may import `lax` and the packages below it.
"""
