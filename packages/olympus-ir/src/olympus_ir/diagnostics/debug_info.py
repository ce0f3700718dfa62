# SPDX-License-Identifier: Apache-2.0
"""Names of a traced function, its arguments and its results, for error messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .source_info import FunctionOrigin


class DebugInfo:
    """Names of a traced function, its arguments and results, computed when a message needs them.

    Attributes:
      traced_for: the transformation, such as ``"jit"``.
      origin: the origin of the function, or a text that describes it.
      func_src_info: the function's name and line, ``f at file.py:3``.
      arg_names: a name for each flat argument, such as ``x['weights']``; None if unknown.
      result_paths: a path for each flat result, such as ``result[0]``.

    Args:
      func_src_info: a text that describes the function, or the function itself, of which only the
        code is kept.
    """

    __slots__ = ("_arg_names", "_result_paths", "origin", "traced_for")

    def __init__(
        self,
        traced_for: str,
        func_src_info: Any,
        arg_names: Sequence[str] | Callable[[], Sequence[str]] | None,
        result_paths: Sequence[str] | Callable[[], Sequence[str]] | None,
    ) -> None:
        self.traced_for = traced_for
        if not isinstance(func_src_info, str | FunctionOrigin):
            func_src_info = FunctionOrigin(func_src_info)
        self.origin = func_src_info
        self._arg_names = arg_names
        self._result_paths = result_paths

    @classmethod
    def of(cls, traced_for: str, func_src_info: Any) -> DebugInfo:
        """Describes a function whose arguments and results have no names."""
        return cls(traced_for, func_src_info, None, None)

    @property
    def func_src_info(self) -> str:
        origin = self.origin
        return origin if isinstance(origin, str) else origin.description

    @property
    def func_name(self) -> str:
        origin = self.origin
        return origin.split(" at ")[0] if isinstance(origin, str) else origin.name

    @property
    def arg_names(self) -> tuple[str, ...] | None:
        if callable(self._arg_names):
            self._arg_names = tuple(self._arg_names())
        return None if self._arg_names is None else tuple(self._arg_names)

    @property
    def result_paths(self) -> tuple[str, ...] | None:
        if callable(self._result_paths):
            self._result_paths = tuple(self._result_paths())
        return None if self._result_paths is None else tuple(self._result_paths)

    def with_result_paths(self, result_paths: Any) -> DebugInfo:
        """Returns a copy with other result paths, or with a function that returns them."""
        return DebugInfo(self.traced_for, self.origin, self._arg_names, result_paths)

    def select(self, inputs: Sequence[bool], outputs: Sequence[bool]) -> DebugInfo:
        """Returns the debug information of a program with a subset of the arguments and results."""

        def selected(names: Sequence[str] | None, flags: Sequence[bool]) -> Any:
            if names is None or len(names) != len(flags):
                return ()
            return tuple(name for name, flag in zip(names, flags, strict=True) if flag)

        return DebugInfo(
            self.traced_for,
            self.origin,
            lambda: selected(self.arg_names, inputs),
            lambda: selected(self.result_paths, outputs),
        )

    def __reduce__(self) -> tuple[type[DebugInfo], tuple[Any, ...]]:
        names = self.arg_names, self.result_paths
        return DebugInfo, (self.traced_for, self.func_src_info, *names)

    def __repr__(self) -> str:
        return (
            f"DebugInfo(traced_for={self.traced_for!r}, func_src_info={self.func_src_info!r}, "
            f"arg_names={self.arg_names!r}, result_paths={self.result_paths!r})"
        )


unknown_debug_info = DebugInfo.of("unknown", "<unknown>")
