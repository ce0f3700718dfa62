# SPDX-License-Identifier: Apache-2.0
"""Members that olympusprs, their variables and their debug information have for other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..diagnostics.debug_info import DebugInfo
from ..programs.olympuspr import ClosedOlympuspr, Literal, Olympuspr
from ..trees.flattening import result_paths
from ..trees.pytrees import tree_structure
from .attaching import attach

__all__: list[str] = []


# ---- debug information ----


def _func_filename(self: DebugInfo) -> str | None:
    """The file that defines the function."""
    location = self.func_src_info.partition(" at ")[2]
    return location.rpartition(":")[0] or None


def _func_lineno(self: DebugInfo) -> int | None:
    """The number of the line on which the function begins."""
    line = self.func_src_info.rpartition(":")[2]
    return int(line) if line.isdigit() else None


def _checked_count(names: tuple[str, ...] | None, count: int, kind: str) -> tuple[str, ...] | None:
    if names is not None and len(names) != count:
        raise AssertionError(f"expected {count} {kind}, got {len(names)}: {names}")
    return names


def _assert_arg_names(self: DebugInfo, expected_count: int) -> None:
    """Raises AssertionError if argument names are known and their number is unexpected."""
    _checked_count(self.arg_names, expected_count, "argument names")


def _assert_result_paths(self: DebugInfo, expected_count: int) -> None:
    """Raises AssertionError if result paths are known and their number is unexpected."""
    _checked_count(self.result_paths, expected_count, "result paths")


def _safe_arg_names(self: DebugInfo, expected_count: int) -> tuple[str, ...]:
    """Returns the names of the arguments, or empty names if they are unknown."""
    names = _checked_count(self.arg_names, expected_count, "argument names")
    return ("",) * expected_count if names is None else names


def _safe_result_paths(self: DebugInfo, expected_count: int) -> tuple[str, ...]:
    """Returns the paths of the results, or empty paths if they are unknown."""
    paths = _checked_count(self.result_paths, expected_count, "result paths")
    return ("",) * expected_count if paths is None else paths


def _selected(names: tuple[str, ...] | None, keep: Sequence[bool]) -> tuple[str, ...] | None:
    if names is None:
        return None
    return tuple(name for name, is_kept in zip(names, keep, strict=True) if is_kept)


def _filter_arg_names(self: DebugInfo, keep: Sequence[bool]) -> tuple[str, ...] | None:
    """Returns the names of some of the arguments."""
    return _selected(self.arg_names, keep)


def _filter_result_paths(self: DebugInfo, keep: Sequence[bool]) -> tuple[str, ...] | None:
    """Returns the paths of some of the results."""
    return _selected(self.result_paths, keep)


def _replace_func_name(self: DebugInfo, name: str) -> DebugInfo:
    """Returns the information with another name of the function, at the same line."""
    _, at, location = self.func_src_info.partition(" at ")
    return DebugInfo(self.traced_for, f"{name}{at}{location}", self._arg_names, self._result_paths)


def _set_result_paths(self: DebugInfo, ans: Any) -> DebugInfo:
    """Returns the information with the paths of a result, a pytree."""
    return self.with_result_paths(tuple(result_paths(tree_structure(ans))))


def _resolve_result_paths(self: DebugInfo) -> DebugInfo:
    """Returns the information with result paths computed."""
    return self.with_result_paths(self.result_paths)


def _with_unknown_names(self: DebugInfo) -> DebugInfo:
    """Returns the information without argument names and result paths."""
    return DebugInfo.of(self.traced_for, self.origin)


attach(
    DebugInfo,
    assert_arg_names=_assert_arg_names,
    assert_result_paths=_assert_result_paths,
    filter_arg_names=_filter_arg_names,
    filter_result_paths=_filter_result_paths,
    func_filename=property(_func_filename),
    func_lineno=property(_func_lineno),
    replace_func_name=_replace_func_name,
    resolve_result_paths=_resolve_result_paths,
    safe_arg_names=_safe_arg_names,
    safe_result_paths=_safe_result_paths,
    set_result_paths=_set_result_paths,
    with_unknown_names=_with_unknown_names,
)


# ---- variables and programs ----


def _hash(self: Literal) -> int | None:
    """The hash of the value; None if the value is not hashable."""
    try:
        return hash(self.val.item() if hasattr(self.val, "item") else self.val)
    except TypeError:
        return None


def _is_high(self: Olympuspr | ClosedOlympuspr) -> bool:
    """True if an operand, constant or result has a high type, whose values consist of arrays."""
    atoms = (*self.constvars, *self.invars, *self.outvars)
    return any(getattr(atom.aval, "is_high", False) for atom in atoms)


attach(Literal, hash=property(_hash))
for _class in (Olympuspr, ClosedOlympuspr):
    attach(
        _class,
        in_aval_qdds=_class.in_avals,
        final_aval_qdds=_class.in_avals,
        is_high=property(_is_high),
    )
attach(ClosedOlympuspr, literals=property(lambda self: self.consts))
