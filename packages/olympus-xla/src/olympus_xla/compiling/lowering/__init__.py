# SPDX-License-Identifier: Apache-2.0
"""Lowering of olympusprs to StableHLO: the machinery.

`context` walks over the equations, `mlir` makes types and attributes, `tables` keeps the rules.
`rules` has one file for each family of primitives, `adapters` what rules of other libraries are
written with. The machinery imports neither of them.
"""
