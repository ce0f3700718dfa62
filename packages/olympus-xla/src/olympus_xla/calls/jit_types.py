# SPDX-License-Identifier: Apache-2.0
"""Types of `jit` and its functions, for type checkers only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypedDict, TypeVar

if TYPE_CHECKING:
    from .stages import Lowered, Traced

__all__ = ["JitKeywords", "JittedFunction"]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R", covariant=True)


class JitKeywords(TypedDict, total=False):
    """Keyword arguments of `jit`."""

    in_shardings: Any
    out_shardings: Any
    static_argnums: int | Sequence[int] | None
    static_argnames: str | Sequence[str] | None
    donate_argnums: int | Sequence[int] | None
    donate_argnames: str | Sequence[str] | None
    keep_unused: bool
    device: Any
    backend: str | None
    inline: bool
    compiler_options: dict[str, Any] | None
    control_flow: bool
    max_traces: int | None
    cache: bool | None
    compile_budget: float | str
    tiers: bool | None


class JittedFunction(Protocol, Generic[P, R]):
    """Type of compiled functions: the signature of the function, and the stages of a call."""

    __name__: str
    __wrapped__: Callable[P, R]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    def __get__(
        self: JittedFunction[Concatenate[Any, Q], R], instance: object, owner: type | None = None
    ) -> JittedFunction[Q, R]: ...
    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered: ...
    def trace(self, *args: P.args, **kwargs: P.kwargs) -> Traced: ...
    def eval_shape(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...
    def clear_cache(self) -> None: ...
    @property
    def tier(self) -> str: ...
    def wait(self) -> None: ...
