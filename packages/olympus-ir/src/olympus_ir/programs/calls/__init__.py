# SPDX-License-Identifier: Apache-2.0
"""Conversion of a call of a Python function to a traced program and its flat operands.

This package may import the other modules of `olympus_ir.programs`, apart from `jit`, `make` and
`mutable_types`, which import this package.
"""
