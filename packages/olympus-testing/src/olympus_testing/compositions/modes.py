# SPDX-License-Identifier: Apache-2.0
"""Families of gathers and scatters, with modes and promises for their indices.

The public functions append statements to a draft of the generated program, and return the value of
the last statement.
"""

from __future__ import annotations

from .drafts import Draft
from .programs import Kind, Value

__all__ = ["gathered", "promised", "scattered", "windows_gathered", "windows_scattered"]

_MODES = ("fill", "clip", "drop")
_ADDITIONS = ("add", "multiply", "min", "max", "subtract")


def _rows(draft: Draft) -> tuple[Value, Value]:
    """Returns an array of floats and a few row indices, some of which may be out of bounds."""
    x = draft.sized("float", lambda rank: rank > 0)
    count = draft.chooser.randint(1, 3)
    return x, draft.fit(draft.pick("integer"), Kind((count,), draft.dtypes.integer))


def gathered(draft: Draft) -> Value:
    """Appends a gather of rows of an array. Some indices may be out of bounds."""
    x, places = _rows(draft)
    mode = draft.chooser.choice(_MODES)
    fill = draft.chooser.choice(("", ", fill_value=0.5")) if mode != "clip" else ""
    shape = (*places.kind.shape, *x.kind.shape[1:])
    index, operands = "$1", [x, places]
    if len(x.kind.shape) > 1 and draft.chance(0.4):
        index, shape = "$1, $1 - 1", (*places.kind.shape, *x.kind.shape[2:])
    text = f"$0.at[{index}].get(mode='{mode}'{fill})"
    return draft.add(text, operands, shape, x.kind.dtype)


def scattered(draft: Draft) -> Value:
    """Appends an update of rows of an array. Indices may be out of bounds, or repeated."""
    x, places = _rows(draft)
    y = draft.fit(draft.pick(), Kind((*places.kind.shape, *x.kind.shape[1:]), x.kind.dtype))
    name = "add" if draft.smooth else draft.chooser.choice(_ADDITIONS)
    mode = draft.chooser.choice(_MODES)
    text = f"$0.at[$1].{name}($2, mode='{mode}')"
    return draft.add(text, [x, places, y], x.kind.shape, x.kind.dtype)


def promised(draft: Draft) -> Value:
    """Appends a gather or an update with true promises: indices in bounds, sorted or unique."""
    x, _ = _rows(draft)
    rows = x.kind.shape[0]
    count = draft.chooser.randint(1, rows)
    start = draft.fit(draft.pick("integer"), Kind((), draft.dtypes.integer))
    unique, is_sorted = draft.chance(0.7), draft.chance(0.5)
    index = f"($1 + jnp.arange({count}, dtype=$1.dtype)) % {rows}"
    index = index if unique else f"jnp.zeros({count}, $1.dtype) + $1 % {rows}"
    index = f"jnp.sort({index})" if is_sorted else index
    mode = draft.chooser.choice(("promise_in_bounds", "promise_in_bounds", *_MODES))
    options = f"mode='{mode}', unique_indices={unique}, indices_are_sorted={is_sorted}"
    if draft.chance(0.4):
        shape = (count, *x.kind.shape[1:])
        return draft.add(f"$0.at[{index}].get({options})", [x, start], shape, x.kind.dtype)
    y = draft.fit(draft.pick(), Kind((count, *x.kind.shape[1:]), x.kind.dtype))
    # The order of several values for one element is not defined.
    name = draft.chooser.choice(("set", "add", "multiply") if unique else ("add", "multiply"))
    text = f"$0.at[{index}].{name}($2, {options})"
    return draft.add(text, [x, start, y], x.kind.shape, x.kind.dtype)


def _windows(draft: Draft) -> tuple[Value, Value, int, int, str]:
    """Returns a matrix, starts of windows of rows, the count and height of windows, and a mode."""
    x = draft.fit(draft.pick("float"), Kind((4, 2), draft.dtypes.real))
    count, height = draft.chooser.randint(1, 2), draft.chooser.randint(1, 3)
    places = draft.fit(draft.pick("integer"), Kind((count, 1), draft.dtypes.integer))
    return x, places, count, height, draft.chooser.choice(_MODES)


def windows_gathered(draft: Draft) -> Value:
    """Appends a gather of windows. Parts of the windows may be out of bounds."""
    x, places, count, height, mode = _windows(draft)
    numbers = "lax.GatherDimensionNumbers((1, 2), (), (0,))"
    text = f"lax.gather($0, $1, {numbers}, ({height}, 2), mode='{mode}', fill_value=0.25)"
    return draft.add(text, [x, places], (count, height, 2), x.kind.dtype)


def windows_scattered(draft: Draft) -> Value:
    """Appends an update of windows. Parts of the windows may be out of bounds."""
    x, places, count, height, mode = _windows(draft)
    y = draft.fit(draft.pick(), Kind((count, height, 2), x.kind.dtype))
    numbers = "lax.ScatterDimensionNumbers((1, 2), (), (0,))"
    name = draft.chooser.choice(("add", "mul") if draft.smooth else ("add", "mul", "min", "max"))
    text = f"lax.scatter_{name}($0, $1, $2, {numbers}, mode='{mode}')"
    return draft.add(text, [x, places, y], x.kind.shape, x.kind.dtype)
