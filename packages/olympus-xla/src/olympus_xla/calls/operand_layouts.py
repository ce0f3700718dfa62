# SPDX-License-Identifier: Apache-2.0
"""Layouts of executables' operands: comparison, and copies of operands that differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.extended_arrays import plain_array

from .._jaxlib import ArrayImpl, JaxRuntimeError
from ..arrays.compiled_copies import compiled_copies
from ..arrays.layouts import Layout, layout_of, pjrt_layout_of, same_layout

__all__ = [
    "as_executable_expects",
    "check_layouts",
    "check_layouts_compiled_for",
    "operands_lie_as_expected",
]


def as_executable_expects(
    loaded: Any, arrays: Sequence[ArrayImpl], skipped: int
) -> list[ArrayImpl]:
    """Returns operands in the layouts for which an executable was compiled.

    Args:
      loaded: the executable.
      arrays: the operands, without tokens.
      skipped: the number of tokens, which precede the operands.
    """
    layouts = _parameter_layouts(loaded, skipped, len(arrays))
    return [
        array
        if _lies_as(array, layout)
        else compiled_copies.with_layout(array, _as_layout(array, layout))
        for array, layout in zip(arrays, layouts, strict=True)
    ]


def _parameter_layouts(loaded: Any, skipped: int, count: int) -> Sequence[Any]:
    """Returns the layouts of an executable's operands, without the skipped operands.

    None stands for the default layout.
    """
    try:
        return loaded.get_parameter_layouts()[skipped:]
    except JaxRuntimeError:
        # XLA reports no layouts if there are tokens among the operands. All layouts are then the
        # default.
        return [None] * count


def _wanted(compiled: Any, count: int) -> Sequence[Any]:
    """Returns the layouts that an executable expects of operands; None for the default layout."""
    skipped = len(compiled.lowered.ordered_effects) + len(compiled.constants)
    return _parameter_layouts(compiled.executable.loaded, skipped, count)


def _default(aval: ShapedArray) -> Layout:
    return Layout(range(aval.ndim))


def _lies_as(array: ArrayImpl, layout: Any) -> bool:
    """Returns whether an array has a layout; None stands for the default layout."""
    if array.aval.shape == (0,):
        return True  # It may stand for a token, whose layout has no dimensions from jaxlib 0.12 on.
    if layout is None:
        return same_layout(layout_of(array), _default(array.aval))
    return pjrt_layout_of(array) == layout


def operands_lie_as_expected(compiled: Any, operands: Sequence[Any]) -> bool:
    """Returns whether operands have the layouts that an executable expects."""
    for operand, layout in zip(operands, _wanted(compiled, len(operands)), strict=True):
        operand = plain_array(operand)
        if type(operand) is ArrayImpl:
            if operand.is_deleted() or not _lies_as(operand, layout):
                return False
        elif layout is not None:
            order = Layout.from_pjrt_layout(layout).major_to_minor
            if order != tuple(range(len(order))):
                return False
    return True


def check_layouts(compiled: Any, leaves: Sequence[Any]) -> None:
    """Raises ValueError if committed arrays do not have the layouts in ``in_shardings``."""
    for leaf, required in zip(leaves, compiled.placement.in_layouts, strict=False):
        if required is None or type(leaf) is not ArrayImpl or not leaf._committed:
            continue
        actual = layout_of(leaf)
        if required is not Layout.AUTO and same_layout(actual, required):
            continue
        hint = (
            " The layout given to `olympus.jit` is `Layout.AUTO` but the corresponding argument "
            "passed is an array with a concrete layout. Consider passing a `ShapeDtypeStruct` to "
            "`lower` and placing arguments as the compiled function's `input_formats` say."
            if required is Layout.AUTO
            else ""
        )
        raise ValueError(
            "Layout passed to jit does not match the layout on the respective arg. Got jit layout: "
            f"{required},\narg layout: {actual} for arg type: {leaf.aval.str_short()}.{hint}"
        )


def check_layouts_compiled_for(compiled: Any, leaves: Sequence[Any], names: Sequence[str]) -> None:
    """Raises ValueError if committed arrays do not have the layouts of the compilation."""
    taken = [
        (leaf, name)
        for leaf, name, keep in zip(leaves, names, compiled.lowered.kept, strict=True)
        if keep
    ]
    mismatches = [
        f"Argument {name} with shape {leaf.aval.str_short()}:\n"
        f"  Passed layout: {layout_of(leaf)}\n"
        f"  Required layout: {_as_layout(leaf, layout)}"
        for (leaf, name), layout in zip(taken, _wanted(compiled, len(taken)), strict=True)
        if type(leaf) is ArrayImpl and leaf._committed and not _lies_as(leaf, layout)
    ]
    if mismatches:
        raise ValueError(
            "Computation was compiled for input layouts that disagree with the layouts of "
            f"arguments passed to it. Here are the {len(mismatches)} mismatches:\n"
            + "\n".join(mismatches)
        )


def _as_layout(array: ArrayImpl, layout: Any) -> Layout:
    return _default(array.aval) if layout is None else Layout.from_pjrt_layout(layout)
