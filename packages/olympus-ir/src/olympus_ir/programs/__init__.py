# SPDX-License-Identifier: Apache-2.0
"""Tracing, primitives, rule tables, olympusprs and their passes.

`tracing`, `primitives` and `rules` are the ground. `olympuspr` has the programs, `staging` records
them, and `checker`, `dead_code` and `printer` work on them by the rules in `olympus_ir.rules`.
`calls`, `jit` and `make` lead from a Python call to a program.

May import `types` and below; never the instruction set `lax`.
"""
