# SPDX-License-Identifier: Apache-2.0
"""Recognition of products of matrices that are smooth functions of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from olympus_ir import lax

from ..forward.recognition import RecognitionTrace, Solved
from ..tables import recognition_rules
from ..zeros import aval_of
from .forms import BATCH, FREE, ROW, VALUE, Axes, Form, product
from .solutions import has_solution, product_over_values, sum_over_values

__all__: list[str] = []

_VALUE = (VALUE, 0)
_ROW = (ROW, 0)


class _Side(NamedTuple):
    """One operand of a product.

    Attributes:
      form: the form of the operand.
      contracted: the axes that are summed.
      batch: the axes that both operands share.
      free: the other axes.
    """

    form: Form
    contracted: Axes
    batch: Axes
    free: Axes


def _side(form: Form, contracted: Sequence[int], batch: Sequence[int]) -> _Side:
    return _Side(
        form,
        tuple(form.axes[position] for position in contracted),
        tuple(form.axes[position] for position in batch),
        tuple(
            axis
            for position, axis in enumerate(form.axes)
            if position not in contracted and position not in batch
        ),
    )


@recognition_rules.define(lax.dot_general_p)
def _dot_general(
    trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]
) -> Form | Solved | None:
    if params.get("out_sharding") is not None:
        return None
    (left_sum, right_sum), (left_batch, right_batch) = params["dimension_numbers"]
    forms = [trace.form_of(arg) for arg in args]
    if None in forms:
        return _coordinates(trace, args, forms, params["dimension_numbers"])
    left = _side(forms[0], left_sum, left_batch)
    right = _side(forms[1], right_sum, right_batch)
    if left.form.source is not right.form.source or left.batch != right.batch:
        return None
    if left.contracted == right.contracted == (_VALUE,):
        return _summed(left, right)
    if not left.contracted and left.batch.count(_VALUE) == 1:
        return _multiplied(left, right)
    return None


def _multiplied(left: _Side, right: _Side) -> Form | None:
    """Returns the form of a product in which the axis of eigenvalues is a batch axis."""
    axes = (*left.batch, *left.free, *right.free)
    function = product(left.form.function, right.form.function)
    for form, other in ((left.form, right.form), (right.form, left.form)):
        if other.is_of_values and not other.is_diagonal:
            return form.replace(axes=axes, function=function)
    return None


def _summed(left: _Side, right: _Side) -> Form | Solved | None:
    """Returns the result of a sum over the eigenvalues; None if no known form fits the sum."""
    function = product(left.form.function, right.form.function)
    for form, other in ((left, right), (right, left)):
        if form.form.is_diagonal:
            return other.form.replace(
                axes=(*left.batch, *left.free, *right.free), function=function
            )
    stacked = tuple((BATCH, position) for position in range(left.form.source.batch))
    if left.batch != stacked:
        return None
    if left.form.is_of_values and right.form.is_of_values and not left.free and not right.free:
        return Solved(lambda: sum_over_values(left.form.source, function))
    if not has_solution(left.form, right.form):
        return None
    if left.free == right.free == (_ROW,):
        return Solved(lambda: product_over_values(left.form, right.form))
    if left.free == (_ROW,) and right.form.other is not None and left.form.other is None:
        return _applied(left.form, right, left.free + right.free)
    if right.free == (_ROW,) and left.form.other is not None and right.form.other is None:
        return _applied(right.form, left, left.free + right.free)
    return None


def _applied(form: Form, coordinates: _Side, axes: Axes) -> Solved | None:
    """Returns the product ``f(A) @ operand`` of a matrix function; None for other sums."""
    if coordinates.form.other is None:
        return None
    operand, summed = coordinates.form.other
    of_matrix = coordinates.form.replace(other=None)
    rest = [position for position in range(aval_of(operand).ndim) if position != summed]
    made = (_ROW, *((FREE, position) for position in rest))

    def compute() -> Any:
        matrix = product_over_values(form, of_matrix)
        result = lax.dot_general(
            matrix, operand, (((1,), (summed,)), ((), ())), precision=lax.Precision.HIGHEST
        )
        return lax.transpose(result, [made.index(axis) for axis in axes])

    return Solved(compute) if sorted(made) == sorted(axes) else None


def _coordinates(
    trace: RecognitionTrace, args: Sequence[Any], forms: Sequence[Form | None], numbers: Any
) -> Form | None:
    """Returns the form of an operand's coordinates in a factor's basis; None for other products."""
    (left_sum, right_sum), (left_batch, _) = numbers
    position = 0 if forms[1] is None else 1
    form = forms[position]
    if form is None or left_batch or form.source.batch or form.factor is None:
        return None
    if form.other is not None or len(left_sum) != 1:
        return None
    own, others = (left_sum, right_sum) if position == 0 else (right_sum, left_sum)
    if form.axes[own[0]] != _ROW:
        return None
    operand = trace.plain(args[1 - position])
    free = tuple((FREE, axis) for axis in range(aval_of(operand).ndim) if axis != others[0])
    return form.replace(
        axes=(_VALUE, *free) if position == 0 else (*free, _VALUE), other=(operand, others[0])
    )
