# SPDX-License-Identifier: Apache-2.0
"""Tracing, primitives, rule tables, olympusprs and their passes.

The other modules build on `tracing`, `primitives` and `rules`. `olympuspr` defines programs, and
`staging` records them. `checker`, `dead_code` and `printer` process programs by the rules in
`olympus_ir.rules`. `calls`, `jit` and `make` turn a Python call into a program.

This package may import `types` and the packages below it. It never imports the instruction set
`lax`.
"""
