# SPDX-License-Identifier: Apache-2.0
"""Optimization barriers in programs for the CPU's compiler, where fusion would cost time.

`fusions` cuts chains that would be fused into ever larger functions. `operands` cuts updates in
place from operations that read the same array (`updates`), and gathers from expensive operands
(`gathers`).
"""
