# SPDX-License-Identifier: Apache-2.0
"""Lowerings for GPUs of operations that the GPU libraries lack.

Each file belongs to one family of primitives. This package imports the modules of `lowering`, and
`rules` imports this package.
"""
