# SPDX-License-Identifier: Apache-2.0
"""What the tracers of all derivatives share: each stands for a value and knows more of it."""

from __future__ import annotations

from typing import Any, NoReturn

from olympus_ir.programs.tracing import Tracer, needs_a_value

from ..zeros import aval_of

__all__ = ["PrimalTracer"]


class PrimalTracer(Tracer):
    """A value, as the user's function sees it; subclasses have its derivatives beside it.

    Attributes:
      primal: the value.
    """

    __slots__ = ("primal",)

    primal: Any

    @property
    def aval(self) -> Any:
        return aval_of(self.primal)

    def concrete_or_none(self) -> Any:
        primal = self.primal
        return primal.concrete_or_none() if isinstance(primal, Tracer) else primal

    # As with NumPy's functions: what comes of the number would have no derivative.
    def __float__(self) -> NoReturn:
        self._check_scalar()
        raise needs_a_value("float() was called on", "`x.astype(float)`")(self)

    def __complex__(self) -> NoReturn:
        self._check_scalar()
        raise needs_a_value("complex() was called on", "`x.astype(complex)`")(self)

    def _origin_message(self) -> str:
        primal = self.primal
        return primal._origin_message() if isinstance(primal, Tracer) else ""
