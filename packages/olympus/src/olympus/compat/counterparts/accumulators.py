# SPDX-License-Identifier: Apache-2.0
"""Accumulators of cotangents, and rules that add to them, under JAX's private names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any

import olympus
from olympus.interpreters import ad
from olympus_autodiff.zeros import UndefinedPrimal, Zero, add_tangents, zeros_like_aval
from olympus_ir.programs.olympuspr import Olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.types.avals import get_aval

from .tangents import backward_pass

__all__ = [
    "GradAccum",
    "NullAccum",
    "RefAccum",
    "ValAccum",
    "backward_pass3",
    "fancy_transposes",
]


class GradAccum:
    """Base class of the places where the cotangents of one operand are added up.

    Attributes:
      aval: the type of the cotangent.
    """

    aval: Any

    def accum(self, x: Any) -> None:
        """Adds a cotangent; None is none."""
        raise NotImplementedError(f"{type(self).__name__} must define accum()")

    def freeze(self) -> Any:
        """Returns the sum, or a `Zero`."""
        raise NotImplementedError(f"{type(self).__name__} must define freeze()")

    def _check(self, cotangent: Any) -> None:
        aval = cotangent.aval if isinstance(cotangent, Zero) else get_aval(cotangent)
        if getattr(aval, "shape", None) != getattr(self.aval, "shape", None):
            raise ValueError(
                f"Expected cotangent type {self.aval.str_short()} but got {aval.str_short()}"
            )


class ValAccum(GradAccum):
    """Accumulator that holds a value.

    Args:
      aval: the type of the cotangent.
      val: the sum so far; zero by default.
    """

    def __init__(self, aval: Any, val: Any = None) -> None:
        self.aval = aval
        self.val = Zero(aval) if val is None else val
        self._check(self.val)

    def __repr__(self) -> str:
        return f"ValAccum({self.aval})"

    def accum(self, x: Any) -> None:
        if x is not None:
            self._check(x)
            self.val = add_tangents(self.val, x)

    def freeze(self) -> Any:
        return self.val


class RefAccum(GradAccum):
    """Accumulator that adds into a reference.

    Args:
      aval: the type of the cotangent.
      ref: the reference; a new one by default.
    """

    def __init__(self, aval: Any, ref: Any = None) -> None:
        self.aval = aval
        self.ref = ref

    def accum(self, x: Any) -> None:
        if x is None or isinstance(x, Zero):
            return
        self._check(x)
        if self.ref is None:
            self.ref = olympus.new_ref(x)
        else:
            self.ref.addupdate(x)

    def freeze(self) -> Any:
        return Zero(self.aval) if self.ref is None else olympus.freeze(self.ref)

    def inst(self) -> RefAccum:
        """Makes the reference, if there is none, and returns this accumulator."""
        if self.ref is None:
            self.ref = olympus.new_ref(zeros_like_aval(self.aval))
        return self


class NullAccum(GradAccum):
    """Accumulator that ignores what is added to it.

    Args:
      aval: the type of the cotangent.
    """

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"NullAccum({self.aval})"

    def accum(self, x: Any) -> None:
        pass


Rule = Callable[..., Any]


class _Transposes(MutableMapping[Primitive, Rule]):
    """Dictionary of transposition rules that add the cotangents of operands to accumulators.

    A rule ``(cotangents, *operands, **params)`` gets a `GradAccum` for each linear operand. A rule
    that is assigned here becomes the primitive's transposition rule.
    """

    def __init__(self) -> None:
        self._given: dict[Primitive, tuple[Rule, Rule]] = {}  # the rules as assigned and as stored

    def __getitem__(self, primitive: Primitive) -> Rule:
        given, stored = self._given[primitive]
        if ad.primitive_transposes.get(primitive) is not stored:
            raise KeyError(primitive)
        return given

    def __setitem__(self, primitive: Primitive, rule: Rule) -> None:
        def transposed(cotangents: Any, *operands: Any, **params: Any) -> list[Any]:
            places = [
                ValAccum(operand.aval.to_ct_aval()) if ad.is_undefined_primal(operand) else operand
                for operand in operands
            ]
            rule(cotangents, *places, **params)
            return [place.freeze() if isinstance(place, ValAccum) else None for place in places]

        self._given[primitive] = rule, transposed
        ad.primitive_transposes[primitive] = transposed

    def __delitem__(self, primitive: Primitive) -> None:
        del self._given[primitive]
        del ad.primitive_transposes[primitive]

    def __iter__(self) -> Iterator[Primitive]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


fancy_transposes = _Transposes()


def backward_pass3(
    jaxpr: Olympuspr,
    transform_stack: bool,
    consts: Sequence[Any],
    primals_in: Sequence[Any],
    cotangents_in: Sequence[Any],
) -> None:
    """Runs a program backward, and adds the cotangents of its inputs to accumulators.

    Args:
      jaxpr: the program, linear in those of its inputs that are accumulators.
      transform_stack: has no effect.
      consts: the values of the program's constants.
      primals_in: the values of the inputs; a `GradAccum` for each linear input.
      cotangents_in: the cotangents of the results; may be `Zero`.
    """
    linear = [isinstance(primal, GradAccum) for primal in primals_in]
    placeholders = [
        UndefinedPrimal(variable.aval) if is_linear else primal
        for variable, primal, is_linear in zip(jaxpr.invars, primals_in, linear, strict=True)
    ]
    cotangents = backward_pass(jaxpr, transform_stack, consts, placeholders, cotangents_in)
    for place, cotangent, is_linear in zip(primals_in, cotangents, linear, strict=True):
        if is_linear:
            place.accum(cotangent)
