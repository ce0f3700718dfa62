# SPDX-License-Identifier: Apache-2.0
"""Tracers of `vmap`: each stands for one example of a batched value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from olympus_ir.programs.tracing import Tracer, register_tracer_type
from olympus_ir.trees.flattening import function_source
from olympus_ir.types.avals import get_aval

from .dimensions import unbatched_aval

if TYPE_CHECKING:
    from .trace import BatchTrace

__all__ = ["BatchTracer", "of_all_examples"]


@register_tracer_type
class BatchTracer(Tracer):
    """Tracer of one example of a batched value."""

    __slots__ = ("batch_dim", "value")

    _trace: BatchTrace

    def __init__(self, trace: BatchTrace, value: Any, batch_dim: int) -> None:
        self._trace = trace  # pyright: ignore[reportIncompatibleVariableOverride]
        self.value = value
        self.batch_dim = batch_dim
        self._aval = None  # pyright: ignore[reportAttributeAccessIssue] - computed on demand

    @property
    def aval(self) -> Any:
        aval = self._aval
        if aval is None:
            aval = self._aval = unbatched_aval(
                get_aval(self.value), self.batch_dim, self._trace.axis.size
            )
        return aval

    def _origin_message(self) -> str:
        fun = self._trace.fun
        where = "" if fun is None else f" of {function_source(fun)}"
        return (
            f"The array is one example in `vmap`{where}: it stands for all "
            f"{self._trace.axis.size} examples, whose values may differ."
        )

    def __repr__(self) -> str:
        batched = get_aval(self.value).str_short()
        return f"VmapTracer(aval={self.aval.str_short()}, batched={batched})"


def of_all_examples(value: Any) -> Any:
    """Returns the values of all examples that a value stands for, batched along any dimensions.

    A size that depends on values can be chosen for all examples, if the batched array is known.
    """
    while isinstance(value, BatchTracer):
        value = value.value
    return value
