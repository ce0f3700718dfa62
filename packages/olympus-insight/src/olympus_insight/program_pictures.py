# SPDX-License-Identifier: Apache-2.0
"""`show`: programs as graphs, and the placement of arrays, as pictures."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from olympus_ir.diagnostics import source_info
from olympus_ir.diagnostics.lines import Line
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.programs.olympuspr import (
    ClosedOlympuspr,
    Equation,
    Literal,
    Olympuspr,
    olympusprs_in_params,
)
from olympus_ir.trees import pytrees
from olympus_ir.types.annotations import PyTree

from . import pages
from .costs import Cost, Costs, count_text
from .graphs import Edge, Node, drawing
from .placements import placement_svg
from .stages import format_bytes, jitted

__all__ = ["Picture", "program_picture", "show"]

_MOST_EQUATIONS = 1500
# Numbers for the ids of HTML elements, which must be distinct in a notebook with several pictures.
_names = itertools.count()


class Picture:
    """A program, or the placement of an array, as a picture.

    Attributes:
      title: the title of the page.
    """

    def __init__(self, title: str, svg: str, body: str) -> None:
        self.title = title
        self._svg = svg
        self._body = body

    def svg(self) -> str:
        """Returns the picture alone, without the programs inside its calls and loops."""
        return self._svg

    def _repr_html_(self) -> str:
        return pages.fragment(self._body)

    def _repr_svg_(self) -> str:
        return self._svg

    def __repr__(self) -> str:
        return f"<Picture: {self.title}>"

    @api_boundary
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file: the picture alone if its name ends in ``.svg``, else a page of HTML."""
        if Path(path).suffix == ".svg":
            Path(path).write_text(self._svg, encoding="utf-8")
        else:
            pages.save(path, self.title, self)


def show(fun: Any, *args: PyTree, **kwargs: PyTree) -> Picture:
    """Draws a program as a graph, or the placement of an array over devices.

    Equations are boxes, and arrays are arrows with their types. The color of a box shows the
    equation's share of the arithmetic operations, by a heuristic estimate. Calls and loops have a
    thick border; a click opens the program inside. Arguments on several devices are drawn as well.

    Args:
      fun: a function, compiled or not; or a program; or an array; or a sharding and, as the
        second argument, a shape.
      *args: the arguments of the function, or `ShapeDtypeStruct` in their place.
      **kwargs: the keyword arguments of the function.

    Returns:
      A `Picture`, which notebooks show, and whose ``save`` writes HTML or SVG.

    Raises:
      TypeError: ``fun`` is none of these.

    Example:
      >>> import numpy as np
      >>> from olympus_ir import lax
      >>> picture = show(lambda x: lax.sin(lax.mul(x, x)), np.ones(3, np.float32))
      >>> "f32[3]" in picture.svg()
      True
    """
    if isinstance(fun, ClosedOlympuspr | Olympuspr):
        return program_picture(fun)
    if hasattr(fun, "devices_indices_map"):
        return _placement_picture("placement", tuple(args[0]) if args else (), fun)
    if hasattr(fun, "sharding") and hasattr(fun, "shape"):
        return _placement_picture(
            f"placement of {fun.dtype}{list(fun.shape)}", fun.shape, fun.sharding
        )
    if hasattr(fun, "jaxpr"):  # `fun` is a traced function
        return program_picture(fun.jaxpr)
    traced = jitted(fun).trace(*args, **kwargs)
    return program_picture(traced.jaxpr, traced.fun_name, _placements(args, kwargs))


def _placement_picture(title: str, shape: Sequence[int], sharding: Any) -> Picture:
    svg = placement_svg(shape, sharding)
    return Picture(title, svg, f"<h3>{pages.escaped(title)}</h3>{svg}")


def _placements(args: tuple, kwargs: dict[str, Any]) -> str:
    """Returns the pictures of arguments that lie on several devices."""
    parts = []
    for path, leaf in pytrees.tree_flatten_with_path((args, kwargs))[0]:
        sharding = getattr(leaf, "sharding", None)
        if sharding is not None and len(getattr(sharding, "device_set", ())) > 1:
            name = f"argument {pytrees.keystr(path[1:])}"
            parts.append(
                f"<h3>{pages.escaped(name)}: {pages.escaped(sharding)}</h3>"
                + placement_svg(leaf.shape, sharding)
            )
    return "".join(parts)


def program_picture(
    program: ClosedOlympuspr | Olympuspr, name: str = "", placements: str = ""
) -> Picture:
    """Returns the picture of a program.

    Args:
      program: the program.
      name: the name of the function.
      placements: pictures of arguments, which the page shows below.
    """
    opened = program.jaxpr if isinstance(program, ClosedOlympuspr) else program
    name = name or opened.debug_info.func_name
    page = _ProgramPage(opened)
    svg, inner = page.of(opened)
    count = f"{len(opened.eqns)} equation{'' if len(opened.eqns) == 1 else 's'}"
    title = f"{name}: {_cost_text(page.costs.of_program(opened))}, {count}"
    return Picture(title, svg, f"<h3>{pages.escaped(title)}</h3>{svg}{inner}{placements}")


def _cost_text(cost: Cost) -> str:
    return f"{count_text(cost.flops)}, {format_bytes(cost.bytes)} moved"


class _ProgramPage:
    """The drawings of a program and of the programs in its calls and loops."""

    def __init__(self, program: Olympuspr) -> None:
        self.prefix = f"olympus{next(_names)}"
        self.costs = Costs()
        self.total = max(self.costs.of_program(program).flops, 1)
        self.drawn: dict[int, str] = {}

    def of(self, program: Olympuspr) -> tuple[str, str]:
        """Returns the drawing of a program, and the drawings of the programs inside it."""
        nodes: list[Node] = []
        edges: list[Edge] = []
        made: dict[Any, Node] = {}
        inside: list[str] = []
        names = program.debug_info.arg_names or ()
        for position, var in enumerate((*program.constvars, *program.invars)):
            number = position - len(program.constvars)
            name = (
                names[number] if 0 <= number < len(names) else "constant" if number < 0 else "input"
            )
            made[var] = self._node((name, _type_of(var)), "#e8eef7", name, kind="input")
            nodes.append(made[var])
        for equation in program.eqns[:_MOST_EQUATIONS]:
            node, details = self._equation(equation)
            nodes.append(node)
            inside.append(details)
            for atom in equation.invars:
                if not isinstance(atom, Literal) and atom in made:
                    edges.append(Edge(made[atom], node, _type_of(atom)))
            made.update(dict.fromkeys(equation.outvars, node))
        edges += self._results(program, nodes, made)
        used = {id(node) for edge in edges for node in (edge.source, edge.target)}
        shown = [node for node in nodes if node.kind != "input" or id(node) in used]
        missing = len(program.eqns) - _MOST_EQUATIONS
        note = (
            f'<p class="note">{missing} further equations are not drawn.</p>' if missing > 0 else ""
        )
        return drawing(shown, edges), note + "".join(inside)

    def _results(
        self, program: Olympuspr, nodes: list[Node], made: dict[Any, Node]
    ) -> Iterator[Edge]:
        paths = program.debug_info.result_paths or ()
        for position, atom in enumerate(program.outvars):
            name = paths[position] if position < len(paths) else f"result {position}"
            node = self._node((name, _type_of(atom)), "#e6f4ea", name, kind="result")
            nodes.append(node)
            if not isinstance(atom, Literal) and atom in made:
                yield Edge(made[atom], node, _type_of(atom))

    def _node(
        self,
        lines: Sequence[str],
        color: str,
        tooltip: str,
        opens: str = "",
        kind: str = "operation",
    ) -> Node:
        shown = [line if len(line) <= 34 else f"{line[:31]}..." for line in lines]
        return Node(f"{self.prefix}-{next(_names)}", shown, color, tooltip, opens, kind)

    def _equation(self, equation: Equation) -> tuple[Node, str]:
        cost = self.costs.of_equation(equation)
        frame = source_info.user_frame(equation.source_info)
        line = Line(frame.file_name, frame.start_line, frame.function_name) if frame else None
        name = _name_of(equation)
        programs = list(olympusprs_in_params(equation.params))
        key, details = self._details(name, programs, line, cost) if programs else ("", "")
        share = cost.flops / self.total
        location = f"\n{line}: {line.text}" if line else ""
        types = ", ".join(map(_type_of, equation.outvars[:3]))
        more = ", ..." if len(equation.outvars) > 3 else ""
        tooltip = f"{name} -> {types}{more}\n{_cost_text(cost)}, {share:.1%}{location}"
        return self._node((name, types + more), _heat(share), tooltip, key), details

    def _details(
        self, name: str, programs: Sequence[Olympuspr], line: Line | None, cost: Cost
    ) -> tuple[str, str]:
        """Returns the section of the page with an equation's programs: its name and its HTML.

        The HTML is empty if the page has the section already.
        """
        known = self.drawn.get(id(programs[0]))
        if known is not None:
            return known, ""
        key = self.drawn[id(programs[0])] = f"{self.prefix}-{next(_names)}"
        where = f" at {line}" if line else ""
        body = "".join(svg + inner for svg, inner in map(self.of, programs))
        summary = pages.escaped(f"{name}{where}: {_cost_text(cost)}")
        return key, f'<details id="{key}"><summary>{summary}</summary>{body}</details>'


def _name_of(equation: Equation) -> str:
    params, name = equation.params, equation.primitive.name
    inner = params.get("name")
    if isinstance(inner, str) and inner:
        name = f"{name} {inner}"
    if name == "scan":
        name = f"scan, {params['length']} times"
    literals = [
        f"{atom.val:.4g}" if isinstance(atom.val, float) else str(atom.val)
        for atom in equation.invars
        if isinstance(atom, Literal)
    ]
    return f"{name} {', '.join(literals)}" if literals else name


def _type_of(atom: Any) -> str:
    aval = atom.aval
    return aval.str_short(True) if hasattr(aval, "str_short") else str(aval)


def _heat(share: float) -> str:
    """Returns a color between white and red for a share of the cost."""
    strength = math.sqrt(min(max(share, 0.0), 1.0))
    return f"#ff{round(255 - 150 * strength):02x}{round(255 - 165 * strength):02x}"
