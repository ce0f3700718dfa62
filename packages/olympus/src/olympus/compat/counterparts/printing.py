# SPDX-License-Identifier: Apache-2.0
"""Printing of programs in parts, and printing rules of libraries, under JAX's private names.

A library's rule takes an equation, the context that names variables, and the settings. It returns a
document, which it builds with the functions of `jax._src.pretty_printer`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from olympus_ir.adapters.attaching import attach
from olympus_ir.diagnostics.documents import (
    Break,
    Concatenation,
    Document,
    Group,
    Nest,
    Text,
    joined,
    layout,
)
from olympus_ir.programs.olympuspr import Atom, ClosedOlympuspr, Equation, Literal, Olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.print_rules import printing_rules
from olympus_ir.programs.printer import Printer
from olympus_ir.types.avals import AbstractValue
from olympus_ir.types.effects import Effect

__all__ = [
    "Color",
    "Intensity",
    "OlympusprPpContext",
    "OlympusprPpSettings",
    "color",
    "nil",
    "pp_aval",
    "pp_effect",
    "pp_eqn",
    "pp_eqn_rules",
    "pp_eqns",
    "pp_kv_pair",
    "pp_kv_pairs",
    "pp_olympuspr",
    "pp_olympuspr_eqn_range",
    "pp_olympusprs",
    "pp_toplevel_olympuspr",
    "pp_var",
    "pp_vars",
    "text",
]


# ---- documents ----


class Color(enum.Enum):
    """Colors of text, as terminal codes."""

    BLACK = 30
    RED = 31
    GREEN = 32
    YELLOW = 33
    BLUE = 34
    MAGENTA = 35
    CYAN = 36
    WHITE = 37
    RESET = 39


class Intensity(enum.Enum):
    """Intensities of text, as terminal codes."""

    DIM = 2
    NORMAL = 22
    BRIGHT = 1


def text(
    text: str, annotation: str | None = None, anchor: str | None = None, href: str | None = None
) -> Document:
    """Returns a text.

    Args:
      text: the text, without newlines.
      annotation: a remark that is printed at the right of the line.
      anchor: the name of the text in an HTML page; ignored, since OLYMPUS prints no HTML.
      href: the target of a link in an HTML page; ignored.
    """
    return Text(text, annotations=() if annotation is None else annotation.split("\n"))


def nil() -> Document:
    """Returns an empty text."""
    return Text("")


def color(
    child: Document,
    foreground: Color | None = None,
    background: Color | None = None,
    intensity: Intensity | None = None,
) -> Document:
    """Returns a document in another color or intensity.

    Raises:
      ValueError: a background is asked for. Documents have none.
    """
    if background is not None:
        raise ValueError(f"text is printed without background, got {background}")
    if isinstance(child, Text):
        old_color, old_intensity = child.style
        style = (
            old_color if foreground is None else foreground.value,
            old_intensity if intensity is None else intensity.value,
        )
        return Text(child.text, style, child.annotations)
    if isinstance(child, Concatenation):
        return Concatenation([color(part, foreground, None, intensity) for part in child.parts])
    if isinstance(child, Nest):
        return Nest(child.indentation, color(child.part, foreground, None, intensity))
    if isinstance(child, Group):
        return Group(color(child.part, foreground, None, intensity))
    return child


def _format(
    self: Document,
    width: int = 80,
    *,
    use_color: bool | None = None,
    annotation_prefix: str = " # ",
) -> str:
    """Returns the document as text."""
    return layout(self, width, use_color, annotation_prefix)


attach(
    Document,
    format=_format,
    __add__=lambda self, other: Concatenation([self, other]),
    __str__=lambda self: layout(self, use_color=False),
)


# ---- contexts and settings ----


class OlympusprPpSettings(NamedTuple):
    """Options of printed programs; see `format_olympuspr`."""

    print_shapes: bool = True
    source_info: bool = False
    name_stack: bool = False
    custom_pp_eqn_rules: bool = True
    print_effects: bool = False


class OlympusprPpContext:
    """The names of variables, which the printed parts of a program share.

    Args:
      var_names: the names of some variables.
    """

    def __init__(self, var_names: dict[Any, str] | None = None) -> None:
        self._names = Printer()
        for variable, name in (var_names or {}).items():
            self._names.set_name(variable, name)

    @classmethod
    def of_printer(cls, printer: Printer) -> OlympusprPpContext:
        """Returns the context whose names are those of a printer."""
        context = cls()
        context._names = printer
        return context

    def printer(self, settings: OlympusprPpSettings) -> Printer:
        """Returns a printer that names variables as this context does."""
        return self._names.with_options(
            source_info=settings.source_info,
            print_shapes=settings.print_shapes,
            name_stack=settings.name_stack,
            use_rules=settings.custom_pp_eqn_rules,
            print_effects=settings.print_effects,
        )


def _settings_of(printer: Printer) -> OlympusprPpSettings:
    return OlympusprPpSettings(
        printer.print_shapes,
        printer.source_info,
        printer.name_stack,
        printer.use_rules,
        printer.print_effects,
    )


# ---- parts of programs ----


def pp_var(
    v: Atom,
    context: OlympusprPpContext,
    *,
    print_literal_dtype: bool = True,
    is_binder: bool = False,
) -> Document:
    """Returns the name of a variable, or the text of a literal.

    Args:
      v: the variable or literal.
      context: the names.
      print_literal_dtype: whether literals show their types.
      is_binder: whether the variable is defined here, which only links in HTML show.
    """
    if isinstance(v, Literal):
        return Text(v.pretty_print(print_dtype=print_literal_dtype))
    return context.printer(OlympusprPpSettings()).atom(v)


def pp_vars(
    vs: Sequence[Atom],
    context: OlympusprPpContext,
    *,
    separator: str = "",
    print_shapes: bool = False,
    is_binder: bool = False,
) -> Document:
    """Returns names of variables, on as many lines as needed."""
    parts = []
    for atom in vs:
        name = pp_var(atom, context)
        if print_shapes and not isinstance(atom, Literal):
            name = Concatenation([name, Text(f":{pp_aval(atom.aval, context)}")])
        parts.append(name)
    return Nest(2, joined(Concatenation([Text(separator), Group(Break())]), parts))


def pp_aval(a: AbstractValue, context: OlympusprPpContext) -> str:
    """Returns the short text of a type."""
    return a.str_short(short_dtypes=True)


def pp_effect(effect: Effect, context: OlympusprPpContext) -> Document:
    """Returns the text of an effect."""
    return Text(str(effect))


def pp_kv_pair(
    k: str, v: Any, context: OlympusprPpContext, settings: OlympusprPpSettings
) -> Document:
    """Returns the text of one parameter."""
    return context.printer(settings).parameter(k, v)


def pp_kv_pairs(
    kv_pairs: Sequence[tuple[str, Any]],
    context: OlympusprPpContext,
    settings: OlympusprPpSettings,
) -> Document:
    """Returns the text of parameters, in brackets."""
    return context.printer(settings).parameters(list(kv_pairs))


def pp_eqn(eqn: Equation, context: OlympusprPpContext, settings: OlympusprPpSettings) -> Document:
    """Returns the text of an equation."""
    return context.printer(settings).equation(eqn)


def pp_eqns(
    eqns: Sequence[Equation], context: OlympusprPpContext, settings: OlympusprPpSettings
) -> Document:
    """Returns the texts of equations."""
    return joined(Break("; "), [pp_eqn(eqn, context, settings) for eqn in eqns])


def pp_olympuspr(
    jaxpr: Olympuspr, context: OlympusprPpContext, settings: OlympusprPpSettings
) -> Document:
    """Returns the text of a program."""
    printer = context.printer(settings)
    printer.hide_unused(jaxpr)
    return printer.program(jaxpr)


def pp_olympusprs(
    jaxprs: Sequence[Olympuspr | ClosedOlympuspr],
    context: OlympusprPpContext,
    settings: OlympusprPpSettings,
) -> Document:
    """Returns the texts of programs, in parentheses."""
    return context.printer(settings).value(tuple(jaxprs))


def pp_olympuspr_eqn_range(
    jaxpr: Olympuspr,
    lo: int,
    hi: int,
    context: OlympusprPpContext,
    settings: OlympusprPpSettings,
) -> Document:
    """Returns the text of a program with some of its equations, and dots for the others."""
    printer = context.printer(settings)
    printer.hide_unused(jaxpr)
    lo, hi = max(lo, 0), min(max(hi, 0), len(jaxpr.eqns))
    before = [Text("...")] if lo > 0 else []
    after = [Text("...")] if hi < len(jaxpr.eqns) else []
    return printer.program(
        jaxpr, lambda shown: [*before, *map(shown.equation, jaxpr.eqns[lo:hi]), *after]
    )


def pp_toplevel_olympuspr(
    jaxpr_to_print: Olympuspr,
    *,
    source_info: bool = False,
    print_shapes: bool = True,
    custom_pp_eqn_rules: bool = True,
    name_stack: bool = False,
    print_effects: bool = False,
) -> Document:
    """Returns the text of a program, after its long or repeated subprograms."""
    printer = OlympusprPpContext().printer(
        OlympusprPpSettings(
            print_shapes, source_info, name_stack, custom_pp_eqn_rules, print_effects
        )
    )
    printer.hide_unused(jaxpr_to_print)
    return printer.program_with_shared(jaxpr_to_print)


# ---- rules ----

_Rule: TypeAlias = Callable[[Equation, OlympusprPpContext, OlympusprPpSettings], Document]


class _PrintingRules(MutableMapping[Primitive, _Rule]):
    """View of the printing rules as functions with JAX's signature."""

    def __getitem__(self, primitive: Primitive) -> _Rule:
        own: Any = printing_rules.find(primitive)
        if own is None:
            raise KeyError(primitive)
        return getattr(own, "given", pp_eqn)

    def __setitem__(self, primitive: Primitive, rule: _Rule) -> None:
        def own(equation: Equation, printer: Printer) -> Document:
            return rule(equation, OlympusprPpContext.of_printer(printer), _settings_of(printer))

        own.given = rule  # type: ignore[attr-defined]  # comes back as it was given
        printing_rules[primitive] = own

    def __delitem__(self, primitive: Primitive) -> None:
        del printing_rules[primitive]

    def __contains__(self, primitive: object) -> bool:
        return isinstance(primitive, Primitive) and printing_rules.find(primitive) is not None

    def __iter__(self) -> Iterator[Primitive]:
        return iter(printing_rules)

    def __len__(self) -> int:
        return len(printing_rules)


pp_eqn_rules = _PrintingRules()
