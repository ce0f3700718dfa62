# SPDX-License-Identifier: Apache-2.0
"""Machinery of the lowering of olympusprs to StableHLO.

`context` walks over the equations, `mlir` makes types and attributes, `tables` keeps the rules.
`rules` has one file for each family of primitives; `cpu` has replacements of XLA's slow operations
for programs on one CPU device; `adapters` has the contexts and functions with which other libraries
write rules. The machinery imports none of these three packages.
"""
