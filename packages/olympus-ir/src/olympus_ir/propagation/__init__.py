# SPDX-License-Identifier: Apache-2.0
"""Propagation rules of the instruction set: from the layouts of operands to those of results.

The table is `olympus_ir.programs.propagation.propagation_rules`. The files have the names of the
families; the table imports them when an operand with a layout is met first. A primitive of a higher
package brings its rule along.

May import `lax` and below.
"""
