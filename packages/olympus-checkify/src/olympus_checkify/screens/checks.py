# SPDX-License-Identifier: Apache-2.0
"""Checks of the values that a screen selects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.elementwise.conversion import stored_p
from olympus_ir.types import dtypes
from olympus_ir.types.avals import get_aval

from ..rules.checked_results import any_of
from .facts import Fact, bad_elements

__all__ = ["Checked", "failures", "stored"]

# The largest number of elements of a value that is checked together with other values.
_SMALL = 4096


class Checked(NamedTuple):
    """A value to check, and the fact about it."""

    value: Any
    fact: Fact


def failures(checked: Iterable[Checked]) -> list[Any]:
    """Returns flags; at least one is set if any of the values has an erroneous element.

    Small values of the same type are checked together, because each reduction of a compiled program
    takes a few microseconds.
    """
    flags = []
    small: dict[np.dtype, list[Any]] = defaultdict(list)
    for value, fact in checked:
        aval = get_aval(value)
        if fact.infinite:
            flags.append(any_of(bad_elements(value, fact)))
        elif aval.size <= _SMALL and dtypes.issubdtype(aval.dtype, np.floating):
            small[aval.dtype].append(value)
        else:
            flags.append(_has_bad_element(value))
    return flags + [_has_bad_element(_joined(values)) for values in small.values()]


def stored(value: Any) -> Any:
    """Returns a value that the compiled program stores in memory before the value is checked.

    A small value is stored as a vector. Otherwise the compiler may choose a layout that the result
    of the program does not have, and copy the value once more.
    """
    aval = get_aval(value)
    if aval.size > _SMALL or aval.ndim < 2:
        return stored_p.bind(value)
    return lax.reshape(stored_p.bind(lax.reshape(value, (aval.size,))), aval.shape)


def _joined(values: Sequence[Any]) -> Any:
    if len(values) == 1:
        return values[0]
    return lax.concatenate([lax.reshape(value, (get_aval(value).size,)) for value in values], 0)


def _has_bad_element(value: Any) -> Any:
    # The magnitudes' maximum would not do: across devices, XLA for CPUs drops NaNs from maxima.
    if dtypes.issubdtype(get_aval(value).dtype, np.complexfloating):
        value = lax.abs(value)
    return lax.bitwise_not(lax.reduce_and(lax.is_finite(value), tuple(range(get_aval(value).ndim))))
