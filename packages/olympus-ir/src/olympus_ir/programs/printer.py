# SPDX-License-Identifier: Apache-2.0
"""The text form of olympusprs, equal to that of JAX's jaxprs.

A program reads ``{ lambda constants ; inputs. let equations in (results,) }``. Variables are named
in the order in which they are printed. A program that occurs several times is printed once, under a
name, before the programs that use it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..diagnostics.documents import (
    BLUE,
    BOLD,
    MAGENTA,
    NORMAL,
    Break,
    Concatenation,
    Document,
    Group,
    Nest,
    Text,
    joined,
    layout,
)
from ..diagnostics.source_info import name_stack_text, summarize
from ..types.effects import allocation_effect, reference_effects
from .olympuspr import Atom, ClosedOlympuspr, DropVar, Equation, Literal, Olympuspr, Var
from .print_rules import printing_rules

# Separator of items that fill lines: a newline if the line is full, else a space.
_SPACE = Group(Break())
KEYWORD = (BLUE, BOLD)
TYPE = (MAGENTA, NORMAL)


def format_olympuspr(
    olympuspr: Olympuspr | ClosedOlympuspr,
    *,
    source_info: bool = False,
    print_shapes: bool = True,
    name_stack: bool = False,
    custom_pp_eqn_rules: bool = True,
    print_effects: bool = False,
    **layout_options: Any,
) -> str:
    """Returns the text of a program.

    Args:
      olympuspr: the program.
      source_info: whether to show the user's source line at the right of each equation.
      print_shapes: whether to print the types of variables.
      name_stack: whether to show the scopes at the right of each equation.
      custom_pp_eqn_rules: whether to hide parameters with default values.
      print_effects: whether to print the effects of programs.
      **layout_options: ``width``, ``use_color`` and ``annotation_prefix`` of the layout.

    Example:
      >>> from olympus_ir import ShapedArray, lax, trace_to_olympuspr
      >>> f32 = ShapedArray((), "float32")
      >>> print(format_olympuspr(trace_to_olympuspr(lambda x: [lax.add(x, lax.sin(x))], [f32])[0]))
      { lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = add a b in (c,) }
    """
    printer = Printer(
        source_info=source_info,
        print_shapes=print_shapes,
        name_stack=name_stack,
        use_rules=custom_pp_eqn_rules,
        print_effects=print_effects,
    )
    if isinstance(olympuspr, ClosedOlympuspr):
        olympuspr = olympuspr.jaxpr
    printer.hide_unused(olympuspr)
    return layout(printer.program_with_shared(olympuspr), **_defined(layout_options))


def format_equation(
    equation: Equation,
    *,
    source_info: bool = False,
    print_shapes: bool = True,
    name_stack: bool = False,
    custom_pp_eqn_rules: bool = True,
    print_effects: bool = False,
    **layout_options: Any,
) -> str:
    """Returns the text of one equation; see `format_olympuspr` for the options."""
    printer = Printer(
        source_info=source_info,
        print_shapes=print_shapes,
        name_stack=name_stack,
        use_rules=custom_pp_eqn_rules,
        print_effects=print_effects,
    )
    return layout(printer.equation(equation), **_defined(layout_options))


def _defined(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


# Subprograms with more equations than this are printed under a name, before the enclosing program.
_LONGEST_IN_PLACE = 10


class Printer:
    """Formatter of programs as documents, which also names the variables."""

    def __init__(
        self,
        *,
        source_info: bool = False,
        print_shapes: bool = True,
        name_stack: bool = False,
        use_rules: bool = True,
        print_effects: bool = False,
    ) -> None:
        self.source_info = source_info
        self.print_shapes = print_shapes
        self.name_stack = name_stack
        self.use_rules = use_rules
        self.print_effects = print_effects
        self._names: dict[Var, str] = {}
        self._types: dict[Any, Text] = {}
        self._spellings = _spellings()
        # Maps the identity of a subprogram that is printed separately to its name.
        self._shared: dict[int, str] = {}
        self._reserved: set[str] = set()

    def with_options(self, **options: bool) -> Printer:
        """Returns a printer with other options, which shares the names of this one."""
        printer = Printer(**options)
        printer._names, printer._spellings = self._names, self._spellings
        printer._shared, printer._reserved = self._shared, self._reserved
        return printer

    # ---- names ----

    def set_name(self, var: Var, name: str) -> None:
        """Sets the name of a variable. No other variable gets this name."""
        self._names[var] = name
        self._reserved.add(name)

    def name(self, var: Var) -> str:
        """Returns the name of a variable; creates a name if needed."""
        if var.__class__ is DropVar:
            return "_"
        name = self._names.get(var)
        if name is None:
            name = next(self._spellings)
            while name in self._reserved:
                name = next(self._spellings)
            self._names[var] = name
        return name

    def hide_unused(self, olympuspr: Olympuspr) -> None:
        """Marks the unused results of a program's equations, which are shown as ``_``."""
        used = {atom for atom in olympuspr.outvars if isinstance(atom, Var)}
        for equation in olympuspr.eqns:
            used.update(atom for atom in equation.invars if isinstance(atom, Var))
        for equation in olympuspr.eqns:
            self._names.update({var: "_" for var in equation.outvars if var not in used})

    def is_hidden(self, var: Var) -> bool:
        """Returns whether a variable is shown as ``_``."""
        return var.__class__ is DropVar or self._names.get(var) == "_"

    def adopt_names(self, olympuspr: Olympuspr, equation: Equation) -> None:
        """Names unnamed inputs and results of a program as in the equation that calls it."""
        if id(olympuspr) in self._shared:
            return
        used: set[str] = set()
        names = self._names
        # The lengths may differ, because the checker also prints malformed programs in messages.
        for var, atom in zip(olympuspr.invars, equation.invars, strict=False):
            if isinstance(atom, Var) and var not in names:
                name = self.name(atom)
                if name not in used:
                    used.add(name)
                    names[var] = name
        for atom, var in zip(olympuspr.outvars, equation.outvars, strict=False):
            if isinstance(atom, Var) and atom not in names:
                names[atom] = self.name(var)

    # ---- programs ----

    def program_with_shared(self, olympuspr: Olympuspr) -> Document:
        """Formats a program, preceded by definitions of its long or repeated subprograms."""
        shared = self._name_shared(olympuspr)
        parts: list[Document] = []
        for program in shared:
            name = self._shared[id(program)]
            definition = [Text("let", KEYWORD), Text(f" {name} = "), self.program(program)]
            parts += [*definition, Text(" "), Text("in", KEYWORD), Break()]
        parts.append(self.program(olympuspr))
        return Concatenation(parts)

    def _name_shared(self, olympuspr: Olympuspr) -> list[Olympuspr]:
        """Names the subprograms that occur several times or are long, and returns them."""
        counts: dict[int, int] = {}
        found: list[tuple[Olympuspr, str]] = []
        pending = deque([olympuspr])
        while pending:
            for equation in pending.popleft().eqns:
                for program in _programs_in(equation.params):
                    key = id(program)
                    counts[key] = counts.get(key, 0) + 1
                    if counts[key] == 1:
                        found.append((program, equation.params.get("name") or "jaxpr"))
                        pending.append(program)
        shared = []
        for program, requested_name in found:
            if counts[id(program)] > 1 or len(program.eqns) > _LONGEST_IN_PLACE:
                base = re.sub(r"\W", "", str(requested_name)) or "jaxpr"
                name, number = base, 0
                while name in self._reserved:
                    number += 1
                    name = f"{base}{number}"
                self._reserved.add(name)
                self._shared[id(program)] = name
                shared.append(program)
        return shared

    def program(
        self,
        olympuspr: Olympuspr,
        equations: Callable[[Printer], Sequence[Document]] | None = None,
    ) -> Document:
        """Formats a program.

        Args:
          olympuspr: the program.
          equations: returns the texts in place of the equations, once the inputs have names; None
            for all equations.
        """
        head = [
            Text("{ "),
            Text("lambda ", KEYWORD),
            Nest(2, self.binders(olympuspr.constvars)),
            Text("; "),
            Nest(2, self.binders(olympuspr.invars)),
            Text(". "),
            Text("let", KEYWORD),
        ]
        if equations is None:
            lines: Sequence[Document] = [self.equation(equation) for equation in olympuspr.eqns]
        else:
            lines = equations(self)
        results = [self.atom(atom) for atom in olympuspr.outvars]
        separator = Concatenation([Text(","), _SPACE])
        tail: list[Document] = [
            Nest(2, Concatenation([Break(), joined(Break("; "), lines)])),
            Break(),
            Text("in ", KEYWORD),
            Nest(2, Concatenation([Text("("), joined(separator, results)])),
            Text(",)" if len(results) == 1 else ")"),
        ]
        if self.print_effects and olympuspr.effects:
            tail.append(Text(f" : {{ {', '.join(self._effects(olympuspr))} }}"))
        return Group(Nest(2, Concatenation([*head, *tail, Text(" }")])))

    def _effects(self, olympuspr: Olympuspr) -> list[str]:
        """Returns the texts of a program's effects. An effect on a reference names the input."""
        inputs = {*olympuspr.constvars, *olympuspr.invars}
        shown = {str(effect) for effect in olympuspr.effects if effect not in reference_effects}
        if allocation_effect in olympuspr.effects:
            shown.add(str(allocation_effect))
        for equation in olympuspr.eqns:
            for effect in reference_effects.filter_in(equation.effects):
                if effect != allocation_effect:
                    refs = [atom for atom in equation.invars if atom.aval.is_ref and atom in inputs]
                    shown.update(f"{effect}<{self.name(ref)}>" for ref in refs)
        return sorted(shown)

    def binders(self, variables: Sequence[Var]) -> Document:
        """Formats variables with their types, on as many lines as needed."""
        parts: list[Document] = []
        for var in variables:
            if parts:
                parts.append(_SPACE)
            parts.append(Text(self.name(var)))
            if self.print_shapes:
                parts.append(self._type(var.aval))
        return Concatenation(parts)

    def _type(self, aval: Any) -> Text:
        text = self._types.get(aval)
        if text is None:
            text = self._types[aval] = Text(f":{aval.str_short(short_dtypes=True)}", TYPE)
        return text

    # ---- equations ----

    def equation(self, equation: Equation) -> Document:
        """Formats one equation."""
        rule = printing_rules.find(equation.primitive) if self.use_rules else None
        params = sorted(equation.params.items()) if rule is None else rule(equation, self)
        if isinstance(params, Document):
            return params
        parts: list[Document] = []
        if equation.outvars:
            parts = [Nest(2, self.binders(equation.outvars)), Text(" = ")]
        parts.append(Text(equation.primitive.name, annotations=self.annotations(equation)))
        parts.append(self.parameters(params))
        operands = [self.atom(atom) for atom in equation.invars]
        parts += [Text(" "), Nest(2, joined(_SPACE, operands))]
        return Concatenation(parts)

    def annotations(self, equation: Equation) -> Sequence[str]:
        """Returns the annotations at the right of an equation."""
        if not self.source_info and not self.name_stack:
            return ()
        remarks = []
        if self.source_info:
            remarks.append(summarize(equation.source_info))
        if self.name_stack:
            remarks.append(f"[{name_stack_text(equation.source_info.name_stack)}]")
        return remarks

    def parameters(self, params: Sequence[tuple[str, Any]]) -> Document:
        """Formats parameters as ``[name=value ...]``; returns an empty text if there are none."""
        if not params:
            return Text("")
        pairs = [self.parameter(name, value) for name, value in params]
        inner = Nest(2, Concatenation([Break(""), joined(Break(), pairs)]))
        return Group(Concatenation([Text("["), inner, Break(""), Text("]")]))

    def parameter(self, name: str, value: Any) -> Document:
        """Formats one parameter as ``name=value``."""
        return Concatenation([Text(f"{name}="), self.value(value)])

    def value(self, value: Any) -> Document:
        """Formats the value of a parameter."""
        if isinstance(value, ClosedOlympuspr):
            return self._inner_program(value.jaxpr)
        if isinstance(value, Olympuspr):
            return self._inner_program(value)
        if (
            isinstance(value, tuple | list)
            and value
            and not hasattr(value, "_fields")  # named tuples show the names of their fields
            and all(isinstance(item, ClosedOlympuspr | Olympuspr) for item in value)
        ):
            items = joined(Break(), [self.value(item) for item in value])
            inner = Nest(2, Concatenation([Break(""), items]))
            return Group(Concatenation([Text("("), inner, Break(""), Text(")")]))
        if isinstance(value, frozenset):
            # Sort, so equal programs have equal texts.
            return Text(f"frozenset({{{', '.join(sorted(map(repr, value)))}}})")
        return Text(_ADDRESS.sub(" at 0xXXXXXXXXXXXX", str(value)))

    def _inner_program(self, olympuspr: Olympuspr) -> Document:
        name = self._shared.get(id(olympuspr))
        return self.program(olympuspr) if name is None else Text(name)

    def atom(self, atom: Atom) -> Document:
        """Formats the name of a variable, or a literal."""
        return Text(format_literal(atom) if isinstance(atom, Literal) else self.name(atom))


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def format_literal(literal: Literal) -> str:
    """Formats a scalar with its type, such as ``2.0:f32[]``."""
    value = literal.val
    item = getattr(value, "item", None)
    shown = value if item is None else item()
    return f"{shown}:{literal.aval.str_short(short_dtypes=True)}"


def _programs_in(params: dict[str, Any]) -> Iterator[Olympuspr]:
    """Returns the programs in parameters, in the order in which they are printed."""
    for _, value in sorted(params.items()):
        for item in value if isinstance(value, tuple | list) else (value,):
            if isinstance(item, ClosedOlympuspr):
                yield item.jaxpr
            elif isinstance(item, Olympuspr):
                yield item


def _spellings() -> Iterator[str]:
    """Yields ``a`` to ``z``, ``ba``, ``bb`` and so on: numbers in base 26, written in letters."""
    number = 0
    while True:
        digits, rest = "", number
        while True:
            rest, digit = divmod(rest, 26)
            digits = chr(ord("a") + digit) + digits
            if not rest:
                break
        yield digits
        number += 1
