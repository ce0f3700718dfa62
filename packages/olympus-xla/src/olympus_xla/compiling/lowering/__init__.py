# SPDX-License-Identifier: Apache-2.0
"""Lowering of olympusprs to StableHLO: the machinery.

`context` walks over the equations, `mlir` makes types and attributes, `tables` keeps the rules.
`rules` has one file for each family of primitives; `cpu` has what they use in programs on one CPU
device where XLA's operation is slow; `adapters` has the contexts and functions with
which other libraries write rules. The machinery imports neither of them.
"""
