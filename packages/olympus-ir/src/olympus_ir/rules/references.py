# SPDX-License-Identifier: Apache-2.0
"""Printing rules of reads and writes of references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..diagnostics.documents import Concatenation, Document, Nest, Text
from ..programs.olympuspr import Atom, Equation
from ..programs.print_rules import printing_rules
from ..references import primitives as references
from ..references.indexing import known_integer

if TYPE_CHECKING:
    from ..programs.printer import Printer


def _shown_ref(printer: Printer, ref: Atom, leaves: Sequence[Any], tree: Any) -> Document:
    return shown_view(printer, ref, references.transforms_of(leaves, tree))


def shown_view(printer: Printer, ref: Atom, transforms: Sequence[Any]) -> Document:
    """Formats a reference with its transforms, such as ``a[0,i:i+8]``."""
    text = "".join(
        [transform.pretty(lambda leaf: _shown(printer, leaf)) for transform in transforms]
    )
    return Concatenation([printer.atom(ref), Text(text or "[...]")])


def _shown(printer: Printer, leaf: Any) -> str:
    if isinstance(leaf, int):
        return str(leaf)
    known = known_integer(getattr(leaf, "val", None)) if hasattr(leaf, "val") else None
    return printer.name(leaf) if known is None else str(known)


@printing_rules.define(references.get_p)
def _print_get(equation: Equation, printer: Printer) -> Document:
    ref, *leaves = equation.invars
    return Concatenation(
        [
            Nest(2, printer.binders(equation.outvars)),
            Text(" <- ", annotations=printer.annotations(equation)),
            _shown_ref(printer, ref, leaves, equation.params["tree"]),
        ]
    )


@printing_rules.define(references.swap_p)
def _print_swap(equation: Equation, printer: Printer) -> Document:
    ref, value, *leaves = equation.invars
    (previous,) = equation.outvars
    element = _shown_ref(printer, ref, leaves, equation.params["tree"])
    arrow = Text(" <- ", annotations=printer.annotations(equation))
    if printer.is_hidden(previous):
        return Concatenation([element, arrow, printer.atom(value)])
    results = [Nest(2, printer.binders([previous])), Text(", "), element]
    return Concatenation([*results, arrow, element, Text(", "), printer.atom(value)])


@printing_rules.define(references.addupdate_p)
def _print_addupdate(equation: Equation, printer: Printer) -> Document:
    ref, value, *leaves = equation.invars
    element = _shown_ref(printer, ref, leaves, equation.params["tree"])
    sign = Text(" += ", annotations=printer.annotations(equation))
    return Concatenation([element, sign, printer.atom(value)])
