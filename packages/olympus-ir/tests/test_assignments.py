# SPDX-License-Identifier: Apache-2.0
"""Traced values that are assigned to elements of NumPy arrays."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.diagnostics.errors import ConcretizationTypeError, TracerArrayConversionError
from olympus_ir.programs.jit import jit


def whole(array, x):
    array[1:, None] = x


def added(array, x):
    array[0, :2] += lax.add(x, x)


def over_lines(array, x):
    array[0] = lax.add(
        x,
        x,
    )


@pytest.mark.parametrize(
    ("assign", "mended"),
    [
        (whole, "`array = array.at[1:, None].set(x)`"),
        (added, "`array = array.at[0, :2].add(lax.add(x, x))`"),
        (over_lines, "`array = array.at[index].set(value)`"),
    ],
)
def test_error_for_item_assignment_suggests_at_set(assign, mended):
    with pytest.raises(TracerArrayConversionError) as caught:
        jit(lambda x: assign(np.zeros((2, 2)), x))(np.zeros(2))
    assert "make the array with `olympus.numpy`" in str(caught.value)
    assert mended in str(caught.value)


def test_item_assignment_error_suggests_at_set():
    def total(x):
        sums = np.zeros(3)
        sums[0] = x
        return sums

    with pytest.raises(ValueError) as caught:  # NumPy's own error, and its cause
        jit(total)(1.0)
    assert isinstance(caught.value.__cause__, ConcretizationTypeError)
    assert "`sums = sums.at[0].set(x)`" in str(caught.value.__cause__)


def test_other_conversion_errors_do_not_suggest_at():
    with pytest.raises(TracerArrayConversionError, match="Use the function of `olympus.numpy`"):
        jit(lambda x: np.sin(x))(1.0)
    with pytest.raises(ConcretizationTypeError) as caught:
        jit(lambda x: float(x))(1.0)
    assert ".at[" not in str(caught.value)
