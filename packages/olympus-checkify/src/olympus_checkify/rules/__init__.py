# SPDX-License-Identifier: Apache-2.0
"""The rules of the instruction set, one module for each family of primitives.

The modules define rules in `tables.error_rules`. The first look-up in this table imports them. The
modules may import each other, and the `interpreter`, which runs programs inside of programs.
"""
