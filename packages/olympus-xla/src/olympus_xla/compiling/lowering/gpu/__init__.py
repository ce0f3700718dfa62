# SPDX-License-Identifier: Apache-2.0
"""Lowerings for GPUs, in place of operations that the libraries of GPUs lack.

Each file belongs to one family of primitives. This package imports the modules of `lowering`, and
`rules` imports this package.
"""
