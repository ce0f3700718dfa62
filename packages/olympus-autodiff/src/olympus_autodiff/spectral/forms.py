# SPDX-License-Identifier: Apache-2.0
"""Forms: expressions of eigenvalues, eigenvectors and singular vectors that rules can recognize."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.tracing import Tracer
from olympus_ir.types.promotion import promote_types

from ..zeros import aval_of

__all__ = [
    "BATCH",
    "FREE",
    "REPEATED",
    "ROW",
    "VALUE",
    "Axes",
    "Decomposition",
    "Form",
    "merged",
    "number_of",
    "product",
]

#: Labels of dimensions: the index of the eigenvalue, the row of the vectors, one of the dimensions
#: over which matrices are stacked, a dimension of another operand, and a dimension over which an
#: array is constant.
VALUE, ROW, BATCH, FREE, REPEATED = "value", "row", "batch", "free", "repeated"

Axes = tuple[tuple[str, int], ...]


class Decomposition(NamedTuple):
    """A decomposition of matrices.

    Attributes:
      kind: "eigh", "svd" or "eig".
      matrix: the matrices, of shape (..., M, N).
    """

    kind: str
    matrix: Any

    @property
    def batch(self) -> int:
        """The number of dimensions over which matrices are stacked."""
        return aval_of(self.matrix).ndim - 2


@dataclasses.dataclass(frozen=True)
class Form:
    """Expression with the elements ``g(w[k])`` or ``factor[i, k] * g(w[k])``.

    The vector ``w`` has the eigenvalues or singular values of a decomposition, and ``factor`` is
    one of its factors. With two dimensions of label `VALUE`, the form is a diagonal matrix. With
    another operand b, the form has the elements ``g(w[k]) * sum(factor[i, k] * b[i, ...])``.

    Attributes:
      source: the decomposition; forms of one decomposition share this object.
      axes: for each dimension its label, and for `BATCH` and `FREE` the index of the dimension.
      function: the elementwise function g. It takes arrays of any shape.
      factor: "left" for eigenvectors and for U, "right" for V, None without a factor.
      is_conjugate: whether the factor is conjugated.
      other: another operand and its dimension along which the factor was summed, or None.
    """

    source: Decomposition
    axes: Axes
    function: Callable[[Any], Any]
    factor: str | None = None
    is_conjugate: bool = False
    other: tuple[Any, int] | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(label for label, _ in self.axes)

    @property
    def is_of_values(self) -> bool:
        """True if each element is a function of one eigenvalue."""
        return self.factor is None and self.labels.count(VALUE) == 1

    @property
    def is_diagonal(self) -> bool:
        """True for a diagonal matrix of the eigenvalues."""
        return self.labels.count(VALUE) == 2

    def place(self, label: str) -> int:
        """Returns the position of the dimension with a label."""
        return self.labels.index(label)

    def replace(self, **changes: Any) -> Form:
        return dataclasses.replace(self, **changes)


def product(f: Callable[[Any], Any], g: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns the product of two functions, in the common dtype of their values."""

    def multiplied(x: Any) -> Any:
        first, second = f(x), g(x)
        dtype = promote_types(aval_of(first).dtype, aval_of(second).dtype)
        return lax.mul(
            lax.convert_element_type(first, dtype), lax.convert_element_type(second, dtype)
        )

    return multiplied


def merged(forms: Sequence[Form]) -> Axes | None:
    """Returns the axes of an elementwise operation; None if dimensions have different meanings."""
    merged_axes = []
    for labels in zip(*(form.axes for form in forms), strict=True):
        meanings = {label for label in labels if label[0] != REPEATED}
        if len(meanings) > 1:
            return None
        merged_axes.append(meanings.pop() if meanings else (REPEATED, 0))
    return tuple(merged_axes)


def number_of(value: Any) -> Any:
    """Returns the number that all elements of a known array equal; None for other values."""
    if isinstance(value, Tracer):
        return None
    array = np.asarray(value)
    if array.size and array.dtype.kind in "biufc" and (array == array.flat[0]).all():
        return array.flat[0]
    return None
