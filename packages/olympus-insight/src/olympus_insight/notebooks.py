# SPDX-License-Identifier: Apache-2.0
"""HTML for notebooks: programs, shardings, and lowered and compiled functions."""

from __future__ import annotations

from typing import Any

from olympus_ir.programs.calls.traced_programs import TracedProgram
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Olympuspr
from olympus_ir.trees import pytrees
from olympus_sharding import Mesh
from olympus_xla.calls.stages import Compiled, Lowered, Stage

from . import pages
from .costs import count_text
from .memory_reports import memory
from .placements import mesh_svg, placement_svg
from .program_pictures import program_picture
from .stages import format_bytes

__all__ = ["html_of"]

_MOST_EQUATIONS = 300
_MOST_LETTERS = 100_000


def html_of(value: Any) -> str | None:
    """Returns an HTML fragment that shows a value; None for values of other kinds.

    Args:
      value: a program, a sharding, or a lowered or compiled function.

    Example:
      >>> from olympus_xla import jit
      >>> "2 flop" in html_of(jit(lambda x: x + x * x).lower(1.0))
      True
    """
    if isinstance(value, ClosedOlympuspr | Olympuspr):
        return _program(value)
    if isinstance(value, Lowered):
        return _lowered(value)
    if isinstance(value, Compiled):
        return _compiled(value)
    if hasattr(value, "devices_indices_map"):
        return _sharding(value)
    return None


def _program(program: ClosedOlympuspr | Olympuspr) -> str:
    text = _text(program.pretty_print(use_color=False))
    if len(program.eqns) > _MOST_EQUATIONS:  # `show` draws programs of any length
        return pages.fragment(text)
    picture = program_picture(program)
    summary = f"as a graph: {pages.escaped(picture.title)}"
    return pages.fragment(text, f"<details><summary>{summary}</summary>{picture._body}</details>")


def _text(text: str) -> str:
    if len(text) > _MOST_LETTERS:
        text = f"{text[:_MOST_LETTERS]}\n({len(text) - _MOST_LETTERS} further letters)"
    return f'<pre style="margin:0">{pages.escaped(text)}</pre>'


def _arguments(stage: Stage, program: TracedProgram) -> str:
    infos = pytrees.tree_leaves(stage.args_info)
    names = program.closed.jaxpr.debug_info.arg_names or ()
    rows = [
        (
            names[position] if position < len(names) else f"argument {position}",
            f"{info.dtype}[{','.join(map(str, info.shape))}]",
            "donated" if info.donated else "",
        )
        for position, info in enumerate(infos)
    ]
    return pages.table(("argument", "type", ""), rows)


def _cost(analysis: Any) -> str:
    costs = dict(analysis or {})
    return (
        f"{count_text(costs.get('flops', 0.0))}, "
        f"{format_bytes(costs.get('bytes accessed', 0.0))} accessed"
    )


def _lowered(lowered: Lowered) -> str:
    name = pages.escaped(lowered._lowering.traced.fun_name)
    return pages.fragment(
        f"<h3>{name}, lowered: {_cost(lowered.cost_analysis())}</h3>",
        _arguments(lowered, lowered._lowering.traced._program),
        f"<details><summary>StableHLO</summary>{_text(lowered.as_text())}</details>",
    )


def _compiled(compiled: Compiled) -> str:
    report = memory(compiled)
    return pages.fragment(
        f"<h3>{pages.escaped(report.name)}, compiled: {_cost(compiled.cost_analysis())}</h3>",
        _arguments(compiled, compiled._executable.program),
        report._repr_html_(),
        f"<details><summary>HLO</summary>{_text(compiled.as_text())}</details>",
    )


def _sharding(sharding: Any) -> str:
    mesh = getattr(sharding, "mesh", None)
    picture = ""  # an abstract mesh has no devices
    if isinstance(mesh, Mesh):
        picture = mesh_svg(mesh)
    elif mesh is None and len(sharding.device_set) == 1:
        picture = placement_svg((), sharding)
    return pages.fragment(f"<p><code>{pages.escaped(sharding)}</code></p>", picture)
