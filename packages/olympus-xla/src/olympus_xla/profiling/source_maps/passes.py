# SPDX-License-Identifier: Apache-2.0
"""The stages of compilation: the traced program, StableHLO, HLO, and optimized HLO."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from olympus_ir.diagnostics.source_info import user_frame
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation, Olympuspr

from ...calls.jit import jit
from .generation import Pass, SourceMapDump, register_pass
from .texts import Place, create_hlo_sourcemap, create_mlir_sourcemap, map_of_lines

__all__: list[str] = []


# ---- the traced program ----


def _trace(work_dir: str, f: Any, f_args: Any, f_kwargs: Any, **_: Any) -> ClosedOlympuspr:
    return make_olympuspr(f)(*f_args, **f_kwargs)


def _equations(olympuspr: Olympuspr) -> Iterator[Equation]:
    """Returns the equations in the order in which they are printed."""
    for equation in olympuspr.eqns:
        yield equation
        for value in equation.params.values():
            for param in value if isinstance(value, tuple) else (value,):
                if isinstance(param, ClosedOlympuspr):
                    yield from _equations(param.jaxpr)
                elif isinstance(param, Olympuspr):
                    yield from _equations(param)


def _dump_program(closed: ClosedOlympuspr, work_dir: str) -> SourceMapDump:
    text = closed.pretty_print(use_color=False)
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    places: list[list[tuple[int, Place]]] = [[] for _ in lines]
    position = 0
    for equation in _equations(closed.jaxpr):
        found = text.find(f"= {equation.primitive.name}", position)
        if found < 0:
            continue  # the equation has no results, or its program is printed elsewhere
        position = found + 1
        frame = user_frame(equation.source_info)
        if frame is None:
            continue
        number = next(n for n, start in enumerate(starts) if start > found) - 1
        column = _beginning(lines[number], found - starts[number])
        places[number].append((column, (frame.file_name, frame.start_line, frame.start_column)))
    return SourceMapDump(map_of_lines(places), text, "jaxpr")


def _beginning(line: str, column: int) -> int:
    """Returns the column at which an equation starts, given the column of its equality sign."""
    before = line[:column]
    ends = [before.rfind(text) + len(text) for text in ("; ", "let ") if text in before]
    return max(ends, default=len(before) - len(before.lstrip()))


register_pass(Pass("jaxpr", _trace, _dump_program))


# ---- the lowered program ----


def _lower(work_dir: str, f: Any, f_args: Any, f_kwargs: Any, **_: Any) -> Any:
    return jit(f).lower(*f_args, **f_kwargs)


def _dump_stablehlo(lowered: Any, work_dir: str) -> SourceMapDump:
    text = lowered.as_text(debug_info=True)
    return SourceMapDump(create_mlir_sourcemap(text), text, "hlo:stable-hlo")


def _dump_original(lowered: Any, work_dir: str) -> SourceMapDump:
    text = lowered.compiler_ir("hlo").as_hlo_module().to_string()
    return SourceMapDump(create_hlo_sourcemap(text), text, "hlo:original")


def _dump_optimized(lowered: Any, work_dir: str) -> SourceMapDump:
    text = lowered.compile().as_text()
    return SourceMapDump(create_hlo_sourcemap(text), text, "hlo:optimized")


for _name, _dump in (
    ("hlo:stable-hlo", _dump_stablehlo),
    ("hlo:original", _dump_original),
    ("hlo:optimized", _dump_optimized),
):
    register_pass(Pass(_name, _lower, _dump))
