# SPDX-License-Identifier: Apache-2.0
"""Members of traced arrays that device arrays, or JAX's tracers, also have."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .. import lax
from ..loading import deferred
from ..programs.olympuspr import Equation, Var
from ..programs.staging import StagingTracer
from ..programs.tracing import Tracer, is_constant_dim, needs_a_value
from .attaching import attach

if TYPE_CHECKING:
    from . import partial_evaluation
else:
    partial_evaluation = deferred(".partial_evaluation", milliseconds=1.0)

__all__: list[str] = []


def _refusing(member: str) -> Callable[..., NoReturn]:
    def method(self: Tracer, *args: Any, **kwargs: Any) -> NoReturn:
        raise needs_a_value(member, "the array itself")(self)

    return method


# Members of device arrays that traced arrays lack. They raise a specific error, because a plain
# AttributeError would suggest that no array has them.
for _name in (
    "__dlpack__",
    "addressable_data",
    "delete",
    "devices",
    "is_deleted",
    "on_device_size_in_bytes",
    "tobytes",
    "tolist",
    "unsafe_buffer_pointer",
):
    setattr(Tracer, _name, _refusing(f"The {_name}() method was called on"))
for _name in (
    "addressable_shards",
    "committed",
    "global_shards",
    "is_fully_addressable",
    "is_fully_replicated",
    "traceback",
):
    setattr(Tracer, _name, property(_refusing(f"The {_name} attribute was asked of")))


def _unknown_place(name: str) -> property:
    # Programs check with `hasattr` whether a value has a location.
    def get(self: Tracer) -> NoReturn:
        raise AttributeError(
            f"the attribute {name!r} is not available for a traced array of type "
            f"{self.aval.str_short()}: olympus.typeof(x) shows its sharding"
        )

    return property(get)


for _name in ("device", "sharding"):
    setattr(Tracer, _name, _unknown_place(_name))


def _full_lower(self: Tracer) -> Tracer:
    """Returns the tracer itself, because traces accept the tracers of other traces."""
    return self


def _get_referent(self: Tracer) -> Any:
    """The concrete value that the tracer stands for; the tracer itself if no value is known."""
    known = self.concrete_or_none()
    return self if known is None else known


def _to_concrete_value(self: Tracer) -> Any:
    """The concrete value that the tracer stands for; None if no value is known."""
    return self.concrete_or_none()


def _dimension_as_value(self: Tracer, dim: int) -> Any:
    """The size of a dimension as an array; the size may be symbolic."""
    size = self.aval.shape[dim]
    if is_constant_dim(size):
        return lax.full((), size, np.int32)
    return size.dimension_as_value()


def _pval(self: StagingTracer) -> Any:
    """The value in partial evaluation: unknown, with the tracer's type."""
    return partial_evaluation.PartialVal.unknown(self.aval)


def _recipe(self: StagingTracer) -> Equation | None:
    """The equation that computes the value; None for inputs and constants."""
    given = getattr(self, "_parent", None)
    if given is not None:
        return given
    trace: Any = self._trace
    for equation in reversed(trace.equations):
        if self.atom in equation.outvars:
            return equation
    return None


def _parents(self: StagingTracer) -> list[StagingTracer]:
    """The tracers of the operands of the equation that computes the value."""
    trace: Any = self._trace
    equation = _recipe(self)
    operands = [] if equation is None else equation.invars
    return [trace.tracer_of(atom) for atom in operands if isinstance(atom, Var)]


attach(
    Tracer,
    dimension_as_value=_dimension_as_value,
    full_lower=_full_lower,
    get_referent=_get_referent,
    to_concrete_value=_to_concrete_value,
)
# Partial-evaluation rules query whether a tracer is known.
attach(
    StagingTracer,
    get_const=_to_concrete_value,
    is_known=lambda self: False,
    parent=property(_recipe),
    parents=property(_parents),
    pval=property(_pval),
    recipe=property(_recipe),
    val=property(lambda self: self.atom),
)
