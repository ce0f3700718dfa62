# SPDX-License-Identifier: Apache-2.0
"""Smooth functions of a matrix that equal expressions of its eigenvalues and eigenvectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.linalg.matrices import is_complex, swap_last
from olympus_ir.types.promotion import promote_types

from ..zeros import aval_of
from . import matrix_functions
from .forms import Decomposition, Form, product

__all__ = ["has_solution", "product_over_values", "sum_over_values"]


def sum_over_values(source: Decomposition, function: Callable[[Any], Any]) -> Any:
    """Returns the sum of a function of the eigenvalues or singular values."""
    if source.kind == "eigh":
        return matrix_functions.hermitian_trace(function, source.matrix)
    if source.kind == "svd":
        return matrix_functions.singular_sum(function, source.matrix)
    dtype = promote_types(aval_of(source.matrix).dtype, np.complex64)
    return matrix_functions.trace_of_function(
        function, lax.convert_element_type(source.matrix, dtype)
    )


def has_solution(first: Form, second: Form) -> bool:
    """Returns whether the sum over products of two scaled factors is smooth."""
    if first.source is not second.source or first.factor is None or second.factor is None:
        return False
    matrix = first.source.matrix
    if is_complex(matrix) and first.is_conjugate == second.is_conjugate:
        return False
    rows, columns = aval_of(matrix).shape[-2:]
    if first.factor != second.factor:
        return True
    # With one factor twice, the factor must be square: otherwise its columns do not span the space.
    return rows <= columns if first.factor == "left" else columns <= rows


def product_over_values(first: Form, second: Form) -> Any:
    """Returns the matrices of sums over products of two scaled factors.

    The matrices have a row for each row of the first factor, and a column for each row of the
    second factor.
    """
    if first.is_conjugate and is_complex(first.source.matrix):
        return swap_last(product_over_values(second, first))
    function = product(first.function, second.function)
    matrix = first.source.matrix
    if first.source.kind == "eigh":
        return matrix_functions.hermitian_function(function, matrix)
    if first.factor == second.factor == "left":
        return matrix_functions.left_function(function, matrix)
    if first.factor == second.factor:
        return matrix_functions.right_function(function, matrix)
    if first.factor == "left":
        return matrix_functions.mixed_function(function, matrix)
    conjugate = lax.conj(matrix) if is_complex(matrix) else matrix
    return swap_last(matrix_functions.mixed_function(function, conjugate))
