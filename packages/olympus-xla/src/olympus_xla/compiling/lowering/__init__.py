# SPDX-License-Identifier: Apache-2.0
"""The lowering of olympusprs to StableHLO.

`context` lowers the equations, `mlir` makes types and attributes, and `tables` holds the rules.
`rules` has one file for each family of primitives. `cpu` replaces slow operations of XLA in
programs on a single CPU device. `adapters` has the contexts and functions with which other
libraries write rules. The other modules import none of `rules`, `cpu` and `adapters`.
"""
