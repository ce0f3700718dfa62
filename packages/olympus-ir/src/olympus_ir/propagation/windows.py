# SPDX-License-Identifier: Apache-2.0
"""Propagation rules of operations on windows, which require shards of equal sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lax.windows import reductions
from ..programs.propagation import (
    Entries,
    Propagation,
    alike,
    propagation_rules,
)
from ..types.layouts import entries_of
from .indexing import split_as_operand

_split_window = split_as_operand("reduce_window")


def _windows(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> list[Entries]:
    arrays = operands[: len(operands) // 2]
    first = alike(arrays)
    entries = _split_window([first], results) if first.layout else None
    return [entries or (None,) * result.ndim for result in results]


def _select_and_scatter(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Entries:
    """Returns the entries of the compared array, which has the result's shape."""
    selected = operands[0] if operands[0].shape == results[0].shape else operands[1]
    return entries_of(selected)


def _select_and_gather(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Entries:
    return split_as_operand("select_and_gather_add")([alike(operands)], results)


propagation_rules.define(reductions.reduce_window_p, Propagation(_windows))
for _primitive in (
    reductions.reduce_window_sum_p,
    reductions.reduce_window_max_p,
    reductions.reduce_window_min_p,
):
    propagation_rules.define(_primitive, Propagation(_split_window))
for _primitive in (reductions.select_and_scatter_p, reductions.select_and_scatter_add_p):
    propagation_rules.define(_primitive, Propagation(_select_and_scatter))
propagation_rules.define(reductions.select_and_gather_add_p, Propagation(_select_and_gather))
