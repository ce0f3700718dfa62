# SPDX-License-Identifier: Apache-2.0
"""Tracing, primitives, rule tables, olympusprs and their passes.

May import `types` and below; never the instruction set `lax`.
"""
