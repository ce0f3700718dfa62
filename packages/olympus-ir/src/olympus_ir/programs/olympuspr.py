# SPDX-License-Identifier: Apache-2.0
"""Olympusprs, small typed programs whose equations each apply one primitive."""

from __future__ import annotations

import contextlib
import operator
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..diagnostics import reports
from ..diagnostics.debug_info import DebugInfo, unknown_debug_info
from ..diagnostics.source_info import SourceInfo, unknown_source
from ..types import dtypes
from ..types.avals import AbstractValue
from ..types.effects import allocation_effect, no_effects, reference_effects
from .primitives import Primitive


class _Printing:
    """Slot for the printer module, which imports this module."""

    printer: Any = None


_printing = _Printing()


def install_printer(printer: Any) -> None:
    """Sets the module that formats programs: `olympus_ir.programs.printer`."""
    _printing.printer = printer


class Var:
    """Variable, bound once as an input or as a result of an equation.

    Variables are compared by identity.

    Attributes:
      aval: the type.
      initial_qdd: for a variable of a mutable type, the state before the program; else None.
      final_qdd: for a variable of a mutable type, the state after the program; else None.
    """

    __slots__ = ("aval", "final_qdd", "initial_qdd")

    def __init__(self, aval: AbstractValue, initial_qdd: Any = None, final_qdd: Any = None) -> None:
        self.aval: Any = aval
        if initial_qdd is not None or final_qdd is not None:
            self.initial_qdd = initial_qdd
            self.final_qdd = final_qdd

    def __getattr__(self, name: str) -> Any:
        # Variables are many, and few have states, so the others do not store None.
        if name in ("initial_qdd", "final_qdd"):
            return None
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def pretty_print(self, context: Any = None, *, print_dtype: bool = True) -> str:
        """Returns the variable as it appears in printed programs.

        Args:
          context: the `printer.Printer` that names variables; None to name the variable
            independently.
          print_dtype: whether to show the type.
        """
        name = (_printing.printer.Printer() if context is None else context).name(self)
        return f"{name}:{self.aval.str_short(short_dtypes=True)}" if print_dtype else name

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval.str_short()}"


class DropVar(Var):
    """An unused result, printed as ``_``."""

    __slots__ = ()

    def __init__(self, aval: AbstractValue) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return "_"


class Literal:
    """A scalar constant inside an equation."""

    __slots__ = ("aval", "val")

    def __init__(self, val: Any, aval: AbstractValue) -> None:
        self.val = val
        self.aval: Any = aval

    def pretty_print(self, context: Any = None, *, print_dtype: bool = True) -> str:
        """Returns the constant as it appears in printed programs.

        Args:
          context: ignored.
          print_dtype: whether to show the type.
        """
        text = str(self.val.item() if hasattr(self.val, "item") else self.val)
        return f"{text}:{self.aval.str_short(short_dtypes=True)}" if print_dtype else text

    def __repr__(self) -> str:
        return f"Literal({self.val.item() if hasattr(self.val, 'item') else self.val})"


Atom: TypeAlias = Var | Literal


class EquationContext:
    """Configuration of an equation. It is empty, because parameters hold all that equations need.

    Attributes:
      manager: the context manager that interpreters enter around an equation.
    """

    __slots__ = ()

    manager: contextlib.AbstractContextManager[None] = contextlib.nullcontext()

    def __reduce__(self) -> str:
        return "no_context"  # copies and pickles refer to the only instance

    def __repr__(self) -> str:
        return "EquationContext()"


no_context = EquationContext()


class Equation:
    """One application of a primitive: ``outvars = primitive[params] invars``."""

    __slots__ = ("ctx", "effects", "invars", "outvars", "params", "primitive", "source_info")

    def __init__(
        self,
        invars: list[Atom],
        outvars: list[Var],
        primitive: Primitive,
        params: dict[str, Any],
        effs: frozenset,
        source_info: SourceInfo,
        ctx: EquationContext,
    ) -> None:
        self.invars = invars
        self.outvars = outvars
        self.primitive = primitive
        self.params = params
        self.effects = effs
        self.source_info = source_info
        self.ctx = ctx

    @classmethod
    def pure(
        cls,
        invars: list[Atom],
        outvars: list[Var],
        primitive: Primitive,
        params: dict[str, Any],
        source_info: SourceInfo = unknown_source,
    ) -> Equation:
        """Makes an equation without effects."""
        return cls(invars, outvars, primitive, params, no_effects, source_info, no_context)

    def map_operands(self, function: Callable[[Any], Atom]) -> Equation:
        """Returns a copy of the equation with another atom in place of each operand."""
        return Equation(
            [function(atom) for atom in self.invars],
            self.outvars,
            self.primitive,
            self.params,
            self.effects,
            self.source_info,
            self.ctx,
        )

    def replace(self, **changes: Any) -> Equation:
        """Returns a copy of the equation with some fields changed."""
        fields = {name: getattr(self, name) for name in _EQUATION_FIELDS}
        effects = changes.pop("effects", self.effects)
        return Equation(**{**fields, **changes, "effs": effects})

    def __repr__(self) -> str:
        return _printing.printer.format_equation(self)


_EQUATION_FIELDS = (
    "invars",
    "outvars",
    "primitive",
    "params",
    "source_info",
    "ctx",
)


class Olympuspr:
    """Open program, whose constants are variables without values.

    Attributes:
      constvars: the variables that stand for constants.
      invars: the inputs.
      outvars: the results, variables or literals.
      eqns: the equations in order.
      effects: the union of the side effects of the equations.

    Args:
      is_high: has no effect, because the types of the variables tell whether types are high.
    """

    __slots__ = (
        "__weakref__",
        "_closed",
        "_memo",
        "constvars",
        "debug_info",
        "effects",
        "eqns",
        "invars",
        "outvars",
    )

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Atom],
        eqns: Sequence[Equation],
        effects: frozenset = no_effects,
        debug_info: DebugInfo = unknown_debug_info,
        is_high: bool = False,
    ) -> None:
        self.constvars = list(constvars)
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.eqns = list(eqns)
        self.effects = frozenset(effects)
        self.debug_info = debug_info
        # The reference to the closed form is weak, because the closed form refers to this program.
        self._closed: weakref.ref[ClosedOlympuspr] | None = None
        self._memo: dict[Any, Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies and pickles omit the results that interpreters cache for the program.
        lists = self.constvars, self.invars, self.outvars, self.eqns
        return Olympuspr, (*lists, self.effects, self.debug_info)

    @property
    def in_avals(self) -> list[Any]:
        return [var.aval for var in self.invars]

    @property
    def out_avals(self) -> list[Any]:
        return [atom.aval for atom in self.outvars]

    def replace(self, **changes: Any) -> Olympuspr:
        """Returns a copy of the program with some fields changed."""
        fields = {
            "constvars": self.constvars,
            "invars": self.invars,
            "outvars": self.outvars,
            "eqns": self.eqns,
            "effects": self.effects,
            "debug_info": self.debug_info,
        }
        return Olympuspr(**{**fields, **changes})

    def pretty_print(self, **options: Any) -> str:
        return _printing.printer.format_olympuspr(self, **options)

    __str__ = __repr__ = pretty_print

    def _repr_html_(self) -> str | None:
        """Returns the program as text and graph in HTML; None if no installed package makes it."""
        return reports.html_of(self)


class ClosedOlympuspr:
    """Program with the values of its constants; immutable, hashed by identity."""

    __slots__ = ("__weakref__", "consts", "jaxpr", "memo")

    def __init__(self, jaxpr: Olympuspr, consts: Sequence[Any]) -> None:
        if len(consts) != len(jaxpr.constvars):
            raise ValueError(
                f"the program has {len(jaxpr.constvars)} constants, got {len(consts)} values"
            )
        self.jaxpr = jaxpr
        self.consts = list(consts)
        # Results that interpreters cache for this program, such as its jvp and its batched form.
        self.memo: dict[Any, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return ClosedOlympuspr, (self.jaxpr, self.consts)

    @property
    def olympuspr(self) -> Olympuspr:
        """Returns the open program; ``jaxpr`` is the same attribute under JAX's name."""
        return self.jaxpr

    @property
    def in_avals(self) -> list[Any]:
        return self.jaxpr.in_avals

    @property
    def out_avals(self) -> list[Any]:
        return self.jaxpr.out_avals

    @property
    def invars(self) -> list[Var]:
        return self.jaxpr.invars

    @property
    def outvars(self) -> list[Atom]:
        return self.jaxpr.outvars

    @property
    def eqns(self) -> list[Equation]:
        return self.jaxpr.eqns

    @property
    def effects(self) -> frozenset:
        return self.jaxpr.effects

    @property
    def constvars(self) -> list[Var]:
        return self.jaxpr.constvars

    @property
    def debug_info(self) -> DebugInfo:
        return self.jaxpr.debug_info

    def replace(self, *, jaxpr: Olympuspr | None = None, consts: Any = None) -> ClosedOlympuspr:
        return ClosedOlympuspr(
            self.jaxpr if jaxpr is None else jaxpr, self.consts if consts is None else consts
        )

    def map_jaxpr(self, function: Callable[[Olympuspr], Olympuspr]) -> ClosedOlympuspr:
        return ClosedOlympuspr(function(self.jaxpr), self.consts)

    def pretty_print(self, **options: Any) -> str:
        return self.jaxpr.pretty_print(**options)

    __str__ = __repr__ = pretty_print

    _repr_html_ = Olympuspr._repr_html_


def close_olympuspr(olympuspr: Olympuspr) -> ClosedOlympuspr:
    """Returns the closed form of a program without constants.

    Calls for the same program return the same object while it is in use. The open program keeps the
    results that interpreters memoize in its closed form, so a later closed form has them, too.
    """
    known = None if olympuspr._closed is None else olympuspr._closed()
    if known is not None:
        return known
    closed = ClosedOlympuspr(olympuspr, ())
    if olympuspr._memo is None:
        olympuspr._memo = closed.memo
    closed.memo = olympuspr._memo
    olympuspr._closed = weakref.ref(closed)
    return closed


def constants_as_inputs(olympuspr: Olympuspr) -> Olympuspr:
    """Returns the program that takes its constants as its first inputs."""
    if not olympuspr.constvars:
        return olympuspr
    return olympuspr.replace(constvars=[], invars=[*olympuspr.constvars, *olympuspr.invars])


def inputs_as_constants(olympuspr: Olympuspr, count: int) -> Olympuspr:
    """Returns the program whose first ``count`` inputs are constants."""
    return olympuspr.replace(
        constvars=[*olympuspr.constvars, *olympuspr.invars[:count]],
        invars=olympuspr.invars[count:],
    )


def olympusprs_in_params(params: dict[str, Any]) -> Sequence[Olympuspr]:
    """Returns the programs in an equation's parameters, including those in tuples and lists."""
    # Passes call this function for every equation, and most equations have no programs.
    if not params:
        return ()
    programs = []
    for value in params.values():
        if isinstance(value, _CONTAINERS):
            for element in value:
                if isinstance(element, _PROGRAMS):
                    programs.append(_open(element))
        elif isinstance(value, _PROGRAMS):
            programs.append(_open(value))
    return programs


def _open(program: Olympuspr | ClosedOlympuspr) -> Olympuspr:
    return program.jaxpr if isinstance(program, ClosedOlympuspr) else program


_PROGRAMS = (Olympuspr, ClosedOlympuspr)
_CONTAINERS = (tuple, list)  # a union type would be made anew in each call


def subolympusprs(olympuspr: Olympuspr) -> Iterator[Olympuspr]:
    """Returns the programs that are parameters of a program's equations."""
    for equation in olympuspr.eqns:
        yield from olympusprs_in_params(equation.params)


def primitives_of(olympuspr: Olympuspr) -> Iterator[Primitive]:
    """Returns the primitives of a program's equations, in their order.

    Passes look through every program for a few primitives, most often in vain. This iterator runs
    in C, so they spend no Python code on an equation.
    """
    return map(_primitive_of, olympuspr.eqns)


_primitive_of = operator.attrgetter("primitive")


def joined_effects(equations: Sequence[Equation], inputs: Sequence[Var] | None = None) -> frozenset:
    """Returns the effects of a program: the union of its equations' effects.

    Args:
      equations: the equations.
      inputs: the program's constants and inputs. If none is a reference, reads and writes of
        references stay inside the program, but its effects still state that it uses references.
    """
    effects: frozenset = no_effects
    for equation in equations:
        if equation.effects:
            effects |= equation.effects
    if effects and inputs is not None and not any(var.aval.is_ref for var in inputs):
        inside = reference_effects.filter_in(effects)
        if inside:
            effects = effects.difference(inside) | {allocation_effect}
    return effects


def is_literalable(value: Any) -> bool:
    """Returns whether a constant is a scalar that becomes a literal of equations that use it."""
    kind = value.__class__
    if kind in _python_scalars:
        return True
    return kind in literal_types and value.shape == ()


_python_scalars = frozenset({bool, int, float, complex})
# Types whose scalars become literals. Packages add their own array types.
literal_types: set[type] = {np.ndarray, *dtypes.numpy_scalar_types}


def register_literal_type(value_type: type) -> type:
    literal_types.add(value_type)
    return value_type
