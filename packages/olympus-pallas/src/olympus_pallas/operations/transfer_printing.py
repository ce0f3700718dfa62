# SPDX-License-Identifier: Apache-2.0
"""Printing rules of semaphores and copies."""

from __future__ import annotations

from typing import Any

from olympus_ir.diagnostics.documents import Concatenation, Document, Text
from olympus_ir.programs.olympuspr import Equation
from olympus_ir.programs.print_rules import printing_rules
from olympus_ir.rules.references import shown_view
from olympus_ir.trees import pytrees

from .transfers import (
    dma_start_p,
    dma_wait_p,
    is_remote,
    semaphore_signal_p,
    semaphore_wait_p,
)


def _shown_device(device_id: Any, printer: Any) -> Document:
    if isinstance(device_id, dict):
        parts: list[Document] = [Text("{")]
        for position, (name, index) in enumerate(device_id.items()):
            parts += [Text(f"{', ' if position else ''}{name}: "), printer.atom(index)]
        return Concatenation([*parts, Text("}")])
    if isinstance(device_id, tuple | list):
        parts = [Text("(")]
        for position, index in enumerate(device_id):
            parts += [Text(", " if position else ""), printer.atom(index)]
        return Concatenation([*parts, Text(",)" if len(device_id) == 1 else ")")])
    return printer.atom(device_id)


def _print_semaphore(suffix: str = "") -> Any:
    def rule(equation: Equation, printer: Any) -> Document:
        ref, transforms, value, *rest = pytrees.tree_unflatten(
            equation.params["args_tree"], equation.invars
        )
        device = []
        if equation.primitive is semaphore_signal_p and rest[0] is not None:
            device = [Text(" "), _shown_device(rest[0], printer)]
        name = Text(
            f"{equation.primitive.name}{suffix} ", annotations=printer.annotations(equation)
        )
        return Concatenation(
            [name, shown_view(printer, ref, transforms), Text(" "), printer.atom(value), *device]
        )

    return rule


def _print_start(equation: Equation, printer: Any) -> Any:
    params = equation.params
    if is_remote(equation):
        return _remote_params(equation)
    source, source_view, target, target_view, semaphore, position = pytrees.tree_unflatten(
        params["tree"], equation.invars
    )
    mark = " +=" if params["add"] else " ->"
    return Concatenation(
        [
            Text(f"dma_start(p{params['priority']}) ", annotations=printer.annotations(equation)),
            shown_view(printer, source, source_view),
            Text(f"{mark} "),
            shown_view(printer, target, target_view),
            Text(" "),
            shown_view(printer, semaphore, position),
        ]
    )


def _remote_params(equation: Equation) -> list[tuple[str, Any]]:
    """Returns the printed parameters of a copy to another device."""
    parts = pytrees.tree_unflatten(equation.params["tree"], equation.invars)
    structure = pytrees.tree_structure((0, 0, 0, 0, pytrees.tree_map(lambda _: 0, parts[8])))
    return sorted({**equation.params, "tree": structure}.items())


def _print_wait(equation: Equation, printer: Any) -> Document:
    _, _, target, target_view, semaphore, position, *_ = pytrees.tree_unflatten(
        equation.params["tree"], equation.invars
    )
    return Concatenation(
        [
            Text("dma_wait ", annotations=printer.annotations(equation)),
            shown_view(printer, target, target_view),
            Text(" "),
            shown_view(printer, semaphore, position),
        ]
    )


printing_rules.define(semaphore_signal_p, _print_semaphore())
printing_rules.define(semaphore_wait_p, _print_semaphore("[dec]"))
printing_rules.define(dma_start_p, _print_start)
printing_rules.define(dma_wait_p, _print_wait)
