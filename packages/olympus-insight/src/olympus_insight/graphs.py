# SPDX-License-Identifier: Apache-2.0
"""Drawings of directed graphs without cycles, in layers.

The method is that of Sugiyama, Tagawa and Toda: Methods for visual understanding of hierarchical
system structures. IEEE Transactions on Systems, Man, and Cybernetics 11 (1981). The layer of a node
is the length of the longest path to the node. The order in a layer follows the barycenters of
neighbors. An edge that would cross many layers becomes a small node that refers to its source.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence

from . import pages

__all__ = ["Edge", "Node", "drawing"]

_LETTER, _PADDING, _ROW, _LINE = 6.7, 10, 78, 15
_GAP = 18
_LONGEST_EDGE = 6
_ROUNDS = 4


@dataclasses.dataclass
class Node:
    """A box of a drawing.

    Attributes:
      key: the name of the box's element in the page.
      lines: the text.
      color: the color that fills the box.
      tooltip: the text under the pointer.
      opens: the name of the part of the page that a click on the box opens; empty for none.
      kind: the CSS class of the box's element.
    """

    key: str
    lines: Sequence[str]
    color: str = "#ffffff"
    tooltip: str = ""
    opens: str = ""
    kind: str = "operation"
    layer: int = 0
    x: float = 0.0

    @property
    def width(self) -> float:
        return max(len(line) for line in self.lines) * _LETTER + 2 * _PADDING

    @property
    def height(self) -> float:
        return len(self.lines) * _LINE + 8


@dataclasses.dataclass
class Edge:
    """An arrow from one node to another, with a text."""

    source: Node
    target: Node
    label: str


def drawing(nodes: Sequence[Node], edges: Sequence[Edge]) -> str:
    """Returns a drawing of a graph as SVG.

    Args:
      nodes: the nodes, ordered so that each node follows its sources.
      edges: the edges.
    """
    if not nodes:
        return ""
    _assign_layers(nodes, edges)
    all_nodes, short = _without_long_edges(list(nodes), edges)
    layers = _ordered_layers(all_nodes, short)
    _place(layers, short)
    left = min(node.x - node.width / 2 for node in all_nodes) - 20
    right = max(node.x + node.width / 2 for node in all_nodes) + 90
    height = len(layers) * _ROW + 10
    _, below = _neighbors(short)
    # If several arrows leave a node, their texts stand near the targets, otherwise near the source.
    offsets = [0.75 if len(below[id(edge.source)]) > 1 else 0.35 for edge in short]
    body = "".join([*map(_edge_svg, short, offsets), *map(_node_svg, all_nodes)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="graph" width="{right - left:.0f}" '
        f'height="{height}" viewBox="{left:.0f} 0 {right - left:.0f} {height}">{_ARROW}{body}</svg>'
    )


# ---- layers ----


def _assign_layers(nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
    outgoing: dict[int, list[Node]] = defaultdict(list)
    incoming: dict[int, int] = defaultdict(int)
    for edge in edges:
        outgoing[id(edge.source)].append(edge.target)
        incoming[id(edge.target)] += 1
    for node in nodes:
        for target in outgoing[id(node)]:
            target.layer = max(target.layer, node.layer + 1)
    for node in nodes:  # inputs stand directly above their first use
        if not incoming[id(node)] and outgoing[id(node)]:
            node.layer = max(min(target.layer for target in outgoing[id(node)]) - 1, 0)


def _without_long_edges(nodes: list[Node], edges: Sequence[Edge]) -> tuple[list[Node], list[Edge]]:
    """Replaces edges over many layers by nodes that refer to their sources."""
    short, references = [], {}
    for edge in edges:
        if edge.target.layer - edge.source.layer <= _LONGEST_EDGE:
            short.append(edge)
            continue
        key = id(edge.source), edge.target.layer
        if key not in references:
            name = edge.source.lines[0]
            references[key] = Node(
                "",
                (f"↑ {name}",),
                "#ffffff",
                f"{edge.source.tooltip}\n(further up)",
                edge.source.key,
                "reference",
                edge.target.layer - 1,
            )
        short.append(Edge(references[key], edge.target, edge.label))
    return [*nodes, *references.values()], short


def _neighbors(edges: Sequence[Edge]) -> tuple[dict[int, list[Node]], dict[int, list[Node]]]:
    above: dict[int, list[Node]] = defaultdict(list)
    below: dict[int, list[Node]] = defaultdict(list)
    for edge in edges:
        above[id(edge.target)].append(edge.source)
        below[id(edge.source)].append(edge.target)
    return above, below


def _ordered_layers(nodes: Sequence[Node], edges: Sequence[Edge]) -> list[list[Node]]:
    layers: list[list[Node]] = [[] for _ in range(max(node.layer for node in nodes) + 1)]
    for node in nodes:
        layers[node.layer].append(node)
    above, below = _neighbors(edges)
    for turn in range(_ROUNDS):
        neighbors = above if turn % 2 == 0 else below
        place = {
            id(node): number / max(len(layer), 1)
            for layer in layers
            for number, node in enumerate(layer)
        }
        for layer in layers if turn % 2 == 0 else reversed(layers):
            centers = [
                _mean([place[id(neighbor)] for neighbor in neighbors[id(node)]], place[id(node)])
                for node in layer
            ]
            ranked = sorted(range(len(layer)), key=centers.__getitem__)
            layer[:] = [layer[number] for number in ranked]
            place.update({id(node): number / len(layer) for number, node in enumerate(layer)})
    return layers


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


# ---- coordinates ----


def _place(layers: Sequence[Sequence[Node]], edges: Sequence[Edge]) -> None:
    above, below = _neighbors(edges)
    for layer in layers:
        _spread(layer, [0.0] * len(layer))
    for turn in range(_ROUNDS):
        neighbors = above if turn % 2 == 0 else below
        for layer in layers if turn % 2 == 0 else reversed(layers):
            targets = [
                _mean([neighbor.x for neighbor in neighbors[id(node)]], node.x) for node in layer
            ]
            _spread(layer, targets)


def _spread(layer: Sequence[Node], targets: Sequence[float]) -> None:
    """Places the nodes of a layer near the wanted positions, in order and without overlap."""
    if not layer:
        return
    from_left, from_right = list(targets), list(targets)
    for number in range(1, len(layer)):
        room = (layer[number - 1].width + layer[number].width) / 2 + _GAP
        from_left[number] = max(from_left[number], from_left[number - 1] + room)
    for number in reversed(range(len(layer) - 1)):
        room = (layer[number + 1].width + layer[number].width) / 2 + _GAP
        from_right[number] = min(from_right[number], from_right[number + 1] - room)
    for node, left, right in zip(layer, from_left, from_right, strict=True):
        node.x = (left + right) / 2


# ---- SVG ----

_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="6" '
    'markerHeight="6" orient="auto"><path d="M0,0 L6,3 L0,6 z" fill="#8a94a3"/></marker></defs>'
)


def _top(node: Node) -> float:
    return node.layer * _ROW + 8


def _edge_svg(edge: Edge, place: float) -> str:
    x, y = edge.source.x, _top(edge.source) + edge.source.height
    end_x, end_y = edge.target.x, _top(edge.target)
    bend = max((end_y - y) / 2, 12)
    # An arrow over several layers goes around the boxes between its ends.
    aside = 0.0
    if edge.target.layer - edge.source.layer > 1 and abs(end_x - x) < 60:
        aside = 0.7 * max(edge.source.width, edge.target.width) + 40
    path = (
        f'<path d="M{x:.0f},{y:.0f} C{x + aside:.0f},{y + bend:.0f} '
        f"{end_x + aside:.0f},{end_y - bend:.0f} "
        f'{end_x:.0f},{end_y:.0f}" fill="none" stroke="#8a94a3" marker-end="url(#arrow)"/>'
    )
    if not edge.label:
        return path
    # A cubic curve whose control points lie in the columns of its ends.
    along = 3 * place**2 - 2 * place**3
    label_x = x + (end_x - x) * along + aside * 3 * place * (1 - place)
    label_y = y + (end_y - y) * place
    return (
        f'{path}<text class="edge" x="{label_x + 4:.0f}" y="{label_y + 3:.0f}" '
        f'style="{_EDGE_STYLE}">{pages.escaped(edge.label)}</text>'
    )


_EDGE_STYLE = "font-size:9px;fill:#5b6675;paint-order:stroke;stroke:#fff;stroke-width:3px"


def _node_svg(node: Node) -> str:
    left, top = node.x - node.width / 2, _top(node)
    round_corners = 12 if node.kind in ("input", "result") else 3
    dashed = ' stroke-dasharray="3 3"' if node.kind == "reference" else ""
    thick = 2 if node.opens and node.kind == "operation" else 1
    texts = "".join(
        f'<text x="{node.x:.0f}" y="{top + 15 + index * _LINE:.0f}" text-anchor="middle"'
        f"{_LESS if index else ''}>{pages.escaped(line)}</text>"
        for index, line in enumerate(node.lines)
    )
    box = (
        f'<rect x="{left:.0f}" y="{top:.0f}" width="{node.width:.0f}" height="{node.height:.0f}" '
        f'rx="{round_corners}" fill="{node.color}" stroke="#5b6675" stroke-width="{thick}"'
        f"{dashed}/>"
    )
    name = f' id="{node.key}"' if node.key else ""
    group = (
        f'<g class="{node.kind}"{name}><title>{pages.escaped(node.tooltip)}</title>{box}{texts}</g>'
    )
    if not node.opens:
        return group
    opening = f"var d=document.getElementById('{node.opens}');if(d&amp;&amp;'open' in d)d.open=true"
    return f'<a href="#{node.opens}" onclick="{opening}">{group}</a>'


_LESS = ' style="font-size:9px;fill:#5b6675"'
