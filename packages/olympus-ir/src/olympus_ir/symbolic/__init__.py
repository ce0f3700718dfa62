# SPDX-License-Identifier: Apache-2.0
"""Symbolic dimensions: sizes computed from variables, which stand for positive integers.

`expressions` has the dimensions and their arithmetic. `bounds` decides comparisons. `scopes` keeps
the assumptions about variables. `parsing` reads specifications such as ``"a, b + 1"``. `solving`
finds the values of variables from the sizes of arrays.

Programs of fixed shapes never load this package.
"""

from .expressions import SymbolicDim, is_symbolic_dim, max_dim, min_dim
from .scopes import SymbolicScope
from .specifications import symbolic_args_specs, symbolic_shape

__all__ = [
    "SymbolicDim",
    "SymbolicScope",
    "is_symbolic_dim",
    "max_dim",
    "min_dim",
    "symbolic_args_specs",
    "symbolic_shape",
]
