# SPDX-License-Identifier: Apache-2.0
"""Olympusprs: small typed programs, lists of equations that each apply one primitive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..diagnostics.source_info import FunctionOrigin, SourceInfo, unknown_source
from ..types import dtypes
from ..types.avals import AbstractValue, get_aval
from ..types.effects import allocation_effect, no_effects, reference_effects
from .primitives import Primitive


class Var:
    """A variable: bound once, as an input or as a result of an equation. Compared by identity."""

    __slots__ = ("aval",)

    # The state of values that change while the program runs; those of programs here do not.
    initial_qdd = None
    final_qdd = None

    def __init__(self, aval: AbstractValue) -> None:
        self.aval: Any = aval

    def pretty_print(self, context: Any = None, *, print_dtype: bool = True) -> str:
        """The variable as programs show it.

        Args:
          context: the `printer.Printer` that names variables; None for a name by itself.
          print_dtype: whether to show the type.
        """
        from .printer import Printer  # the printer imports this module

        name = (Printer() if context is None else context).name(self)
        return f"{name}:{self.aval.str_short(short_dtypes=True)}" if print_dtype else name

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval.str_short()}"


class DropVar(Var):
    """A result that nothing uses, printed as ``_``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "_"


class Literal:
    """A scalar constant written into an equation."""

    __slots__ = ("aval", "val")

    def __init__(self, val: Any, aval: AbstractValue | None = None) -> None:
        self.val = val
        self.aval: Any = get_aval(val) if aval is None else aval

    @property
    def hash(self) -> int | None:
        """The value's hash; None where it has none."""
        try:
            return hash(self.val.item() if hasattr(self.val, "item") else self.val)
        except TypeError:
            return None

    def pretty_print(self, context: Any = None, *, print_dtype: bool = True) -> str:
        """The constant as programs show it.

        Args:
          context: makes no difference.
          print_dtype: whether to show the type.
        """
        text = str(self.val.item() if hasattr(self.val, "item") else self.val)
        return f"{text}:{self.aval.str_short(short_dtypes=True)}" if print_dtype else text

    def __repr__(self) -> str:
        return f"Literal({self.val.item() if hasattr(self.val, 'item') else self.val})"


Atom: TypeAlias = Var | Literal


class Equation:
    """One application of a primitive: ``outvars = primitive[params] invars``."""

    __slots__ = ("ctx", "effects", "invars", "outvars", "params", "primitive", "source_info")

    def __init__(
        self,
        invars: list[Atom],
        outvars: list[Var],
        primitive: Primitive,
        params: dict[str, Any],
        effects: frozenset = no_effects,
        source_info: SourceInfo = unknown_source,
        ctx: Any = None,
    ) -> None:
        self.invars = invars
        self.outvars = outvars
        self.primitive = primitive
        self.params = params
        self.effects = effects
        self.source_info = source_info
        self.ctx = ctx

    def replace(self, **changes: Any) -> Equation:
        """The same equation with some fields changed."""
        fields = {name: getattr(self, name) for name in _EQUATION_FIELDS}
        return Equation(**{**fields, **changes})

    def __repr__(self) -> str:
        from .printer import format_equation  # the printer imports this module

        return format_equation(self)


_EQUATION_FIELDS = (
    "invars",
    "outvars",
    "primitive",
    "params",
    "effects",
    "source_info",
    "ctx",
)


class DebugInfo:
    """What error messages say of a traced function; worked out only when it is asked for.

    Attributes:
      traced_for: the transformation, such as ``"jit"``.
      origin: what is known of the function, or a text that describes it.
      func_src_info: the function's name and place, ``f at file.py:3``.
      arg_names: one name a flat argument, such as ``x['weights']``; None where unknown.
      result_paths: one path a flat result, such as ``result[0]``.

    Args:
      function: the function, of which only the code is kept, or a text that describes it.
    """

    __slots__ = ("_arg_names", "_result_paths", "origin", "traced_for")

    def __init__(
        self,
        traced_for: str,
        function: Any = None,
        arg_names: Sequence[str] | Callable[[], Sequence[str]] | None = None,
        result_paths: Sequence[str] | Callable[[], Sequence[str]] | None = None,
    ) -> None:
        self.traced_for = traced_for
        if not isinstance(function, str | FunctionOrigin):
            function = FunctionOrigin(function)
        self.origin = function
        self._arg_names = arg_names
        self._result_paths = result_paths

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

    @property
    def func_filename(self) -> str | None:
        """The file that the function is in."""
        place = self.func_src_info.partition(" at ")[2]
        return place.rpartition(":")[0] or None

    @property
    def func_lineno(self) -> int | None:
        """The line of the file on which the function begins."""
        line = self.func_src_info.rpartition(":")[2]
        return int(line) if line.isdigit() else None

    def assert_arg_names(self, expected_count: int) -> None:
        """Raises AssertionError where there are names, but not as many."""
        if self.arg_names is not None and len(self.arg_names) != expected_count:
            raise AssertionError(f"{expected_count} names of arguments are wanted of {self}")

    def assert_result_paths(self, expected_count: int) -> None:
        """Raises AssertionError where there are paths of results, but not as many."""
        if self.result_paths is not None and len(self.result_paths) != expected_count:
            raise AssertionError(f"{expected_count} paths of results are wanted of {self}")

    def safe_arg_names(self, expected_count: int) -> tuple[str, ...]:
        """The names of so many arguments; empty ones where they are not known."""
        self.assert_arg_names(expected_count)
        names = self.arg_names
        return ("",) * expected_count if names is None else names

    def safe_result_paths(self, expected_count: int) -> tuple[str, ...]:
        """The paths of so many results; empty ones where they are not known."""
        self.assert_result_paths(expected_count)
        paths = self.result_paths
        return ("",) * expected_count if paths is None else paths

    def filter_arg_names(self, keep: Sequence[bool]) -> tuple[str, ...] | None:
        """The names of some of the arguments."""
        return _kept(self.arg_names, keep)

    def filter_result_paths(self, keep: Sequence[bool]) -> tuple[str, ...] | None:
        """The paths of some of the results."""
        return _kept(self.result_paths, keep)

    def replace_func_name(self, name: str) -> DebugInfo:
        """The same of a function of another name at the same place."""
        _, at, place = self.func_src_info.partition(" at ")
        return DebugInfo(self.traced_for, f"{name}{at}{place}", self._arg_names, self._result_paths)

    def set_result_paths(self, ans: Any) -> DebugInfo:
        """The same with the paths of a function's result, a pytree."""
        from ..trees.flattening import result_paths  # imports this module
        from ..trees.pytrees import tree_structure

        return self.with_result_paths(tuple(result_paths(tree_structure(ans))))

    def resolve_result_paths(self) -> DebugInfo:
        """The same with the paths of results worked out."""
        return self.with_result_paths(self.result_paths)

    def with_unknown_names(self) -> DebugInfo:
        """The same without names of arguments and paths of results."""
        return DebugInfo(self.traced_for, self.origin)

    def with_result_paths(self, result_paths: Any) -> DebugInfo:
        return DebugInfo(self.traced_for, self.origin, self._arg_names, result_paths)

    def select(self, inputs: Sequence[bool], outputs: Sequence[bool]) -> DebugInfo:
        """The same for a program with some of the arguments and results only."""

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

    def __repr__(self) -> str:
        return (
            f"DebugInfo(traced_for={self.traced_for!r}, func_src_info={self.func_src_info!r}, "
            f"arg_names={self.arg_names!r}, result_paths={self.result_paths!r})"
        )


def _kept(names: tuple[str, ...] | None, keep: Sequence[bool]) -> tuple[str, ...] | None:
    if names is None:
        return None
    return tuple(name for name, kept in zip(names, keep, strict=True) if kept)


unknown_debug_info = DebugInfo("unknown", "<unknown>")


class Olympuspr:
    """An open program: its constants are inputs without values yet.

    Attributes:
      constvars: the variables that stand for constants.
      invars: the inputs.
      outvars: the results, variables or literals.
      eqns: the equations in order.
      effects: the union of what the equations do besides computing.
    """

    __slots__ = (
        "__weakref__",
        "_closed",
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
    ) -> None:
        self.constvars = list(constvars)
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.eqns = list(eqns)
        self.effects = frozenset(effects)
        self.debug_info = debug_info
        self._closed: ClosedOlympuspr | None = None

    @property
    def in_avals(self) -> list[Any]:
        return [var.aval for var in self.invars]

    @property
    def out_avals(self) -> list[Any]:
        return [atom.aval for atom in self.outvars]

    # The types of operands and results before and after the program runs, which changes none.
    in_aval_qdds = in_avals
    final_aval_qdds = in_avals

    @property
    def is_high(self) -> bool:
        """Whether operands or results are values that libraries define, made of arrays."""
        atoms = (*self.constvars, *self.invars, *self.outvars)
        return any(getattr(atom.aval, "is_high", False) for atom in atoms)

    def replace(self, **changes: Any) -> Olympuspr:
        """The same program with some fields changed."""
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
        from .printer import format_olympuspr  # the printer imports this module

        return format_olympuspr(self, **options)

    __str__ = __repr__ = pretty_print


class ClosedOlympuspr:
    """A program with the values of its constants. Hashable by identity; do not change it."""

    __slots__ = ("__weakref__", "consts", "jaxpr", "memo")

    def __init__(self, jaxpr: Olympuspr, consts: Sequence[Any] = ()) -> None:
        if len(consts) != len(jaxpr.constvars):
            raise ValueError(
                f"the program has {len(jaxpr.constvars)} constants, got {len(consts)} values"
            )
        self.jaxpr = jaxpr
        self.consts = list(consts)
        # What interpreters remember of this very program (its jvp, its batched form ...).
        self.memo: dict[Any, Any] = {}

    @property
    def olympuspr(self) -> Olympuspr:
        """The open program; ``jaxpr`` is the same under the name that JAX's programs use."""
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

    in_aval_qdds = in_avals
    final_aval_qdds = in_avals

    @property
    def is_high(self) -> bool:
        return self.jaxpr.is_high

    @property
    def literals(self) -> list[Any]:
        return self.consts

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


def close_olympuspr(olympuspr: Olympuspr) -> ClosedOlympuspr:
    """The closed form of a program without constants; always the same object for one program."""
    if olympuspr._closed is None:
        olympuspr._closed = ClosedOlympuspr(olympuspr, ())
    return olympuspr._closed


def constants_as_inputs(olympuspr: Olympuspr) -> Olympuspr:
    """The program that takes its constants as its first inputs."""
    if not olympuspr.constvars:
        return olympuspr
    return olympuspr.replace(constvars=[], invars=[*olympuspr.constvars, *olympuspr.invars])


def inputs_as_constants(olympuspr: Olympuspr, count: int) -> Olympuspr:
    """The program whose first ``count`` inputs are constants."""
    return olympuspr.replace(
        constvars=[*olympuspr.constvars, *olympuspr.invars[:count]],
        invars=olympuspr.invars[count:],
    )


def olympusprs_in_params(params: dict[str, Any]) -> Iterator[Olympuspr]:
    """The programs among an equation's parameters, also those in tuples and lists."""
    for value in params.values():
        for item in value if isinstance(value, tuple | list) else (value,):
            if isinstance(item, ClosedOlympuspr):
                yield item.jaxpr
            elif isinstance(item, Olympuspr):
                yield item


def subolympusprs(olympuspr: Olympuspr) -> Iterator[Olympuspr]:
    """The programs directly inside a program's equations."""
    for equation in olympuspr.eqns:
        yield from olympusprs_in_params(equation.params)


def joined_effects(equations: Sequence[Equation], inputs: Sequence[Var] | None = None) -> frozenset:
    """The union of the equations' effects: those of a program.

    Args:
      equations: the equations.
      inputs: the program's constants and inputs. Where there is no reference among them, reading
        and writing references stays inside the program; that there are some is stated all the same.
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
    """Whether a constant is a scalar that is written into the equation itself."""
    kind = value.__class__
    if kind in _python_scalars:
        return True
    return kind in literal_types and value.shape == ()


_python_scalars = frozenset({bool, int, float, complex})
# Types whose scalars become literals; packages with array types of their own add them.
literal_types: set[type] = {np.ndarray, *dtypes.numpy_scalar_types}


def register_literal_type(value_type: type) -> type:
    literal_types.add(value_type)
    return value_type
