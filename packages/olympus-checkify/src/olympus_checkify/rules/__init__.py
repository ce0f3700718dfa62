# SPDX-License-Identifier: Apache-2.0
"""The rules of the instruction set, one module a family of primitives.

The modules define rules in `tables.error_rules`, which imports them with the first look-up. They
may import the `interpreter`, which runs programs inside of programs, and each other.
"""
