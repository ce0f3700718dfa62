# SPDX-License-Identifier: Apache-2.0
"""Pictures of programs, placements and stages in a browser."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_autodiff import grad
from olympus_insight import explain, memory, show
from olympus_insight.costs import Costs
from olympus_insight.graphs import Edge, Node, drawing
from olympus_ir import lax
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.types.placement import PartitionSpec
from olympus_sharding import AxisType, NamedSharding, make_mesh
from olympus_xla import jit
from olympus_xla.arrays.transfer import device_put

X = np.ones((8, 4), np.float32)


def recurrent(params, xs):
    def body(carry, x):
        return jnp.tanh(carry @ params["w"] + x), None

    carry, _ = lax.scan(body, jnp.zeros(4, np.float32), xs)
    return jnp.sum(jit(jnp.sin)(carry))


@pytest.fixture
def mesh(devices):
    return make_mesh((2, 2), ("x", "y"), (AxisType.Auto,) * 2, devices=devices[:4])


def visible(element):
    return element.is_displayed() and element.size["height"] > 10


def test_program_in_the_browser(opened):
    window = opened(show(recurrent, {"w": X[:4]}, X))
    assert "recurrent" in window.title
    texts = [each.text for each in window.find_elements("css selector", "svg.graph text")]
    assert "params['w']" in texts and "f32[8,4]" in texts and "scan, 8 times" in texts
    # A click on the loop opens the program inside.
    loop = window.find_element("css selector", "details")
    inside = loop.find_element("css selector", "svg.graph")
    assert not visible(inside)
    window.find_element("xpath", "//*[name()='text'][.='scan, 8 times']").click()
    assert visible(inside)
    assert "tanh" in inside.text and "f32[4]" in inside.text
    # A click on its heading closes the program.
    loop.find_element("css selector", "summary").click()
    assert not visible(inside)


def test_boxes_do_not_overlap(opened):
    window = opened(show(grad(recurrent), {"w": X[:4]}, X))
    boxes = window.execute_script(
        "return [...document.querySelector('svg.graph').querySelectorAll('rect')]"
        ".map(each => ['x', 'y', 'width', 'height'].map(name => +each.getAttribute(name)))"
    )
    assert len(boxes) > 10
    for number, (x, y, width, height) in enumerate(boxes):
        for other_x, other_y, other_width, other_height in boxes[:number]:
            apart = x >= other_x + other_width or other_x >= x + width
            assert apart or y >= other_y + other_height or other_y >= y + height


def test_expensive_boxes_are_red():
    svg = show(lambda x: jnp.sin(x @ x.T), np.ones((64, 64), np.float32)).svg()
    (product,) = [part for part in svg.split("<g ") if ">dot_general<" in part]
    (sine,) = [part for part in svg.split("<g ") if ">sin<" in part]
    red = [part.split('fill="#ff')[1][:2] for part in (product, sine)]
    assert int(red[0], 16) < int(red[1], 16)


def test_costs_equal_textbook_formulas():
    def cost(fun, *args):
        return Costs().of_program(make_olympuspr(fun)(*args).jaxpr)

    a, b = np.ones((3, 5), np.float32), np.ones((5, 7), np.float32)
    assert cost(lax.dot, a, b) == (2 * 3 * 5 * 7, 4 * (15 + 35 + 21))
    assert cost(lambda a: a + a, a).flops == 15
    scanned = cost(lambda a: lax.scan(lambda c, x: (c + x, None), a[0], a)[0], a)
    assert scanned.flops - cost(lambda a: a[0], a).flops == 15
    branches = cost(lambda a: lax.cond(True, lambda a: a * a + a, lambda a: a, a), a)
    assert branches.flops >= 30


def test_long_edges_refer_to_their_source():
    nodes = [Node(str(place), [f"node {place}"]) for place in range(12)]
    edges = [Edge(one, other, "") for one, other in itertools.pairwise(nodes)]
    svg = drawing(nodes, [*edges, Edge(nodes[0], nodes[-1], "f32[]")])
    assert svg.count("<path") == 12 + 1 and "↑ node 0" in svg  # the marker is a path, too


def test_saves_svg_and_html(tmp_path):
    picture = show(make_olympuspr(jnp.sin)(X))
    picture.save(tmp_path / "program.svg")
    assert (tmp_path / "program.svg").read_text().startswith("<svg")
    assert "f32[8,4]" in (tmp_path / "program.svg").read_text()


def test_placement_in_the_browser(opened, mesh):
    x = device_put(X, NamedSharding(mesh, PartitionSpec("x", "y")))
    window = opened(show(x))
    parts = window.find_elements("css selector", "g.part")
    boxes = {
        each.find_element("css selector", "text").text: each.find_element(
            "css selector", "rect"
        ).rect
        for each in parts
    }
    assert sorted(boxes) == ["0", "1", "2", "3"]
    assert boxes["1"]["x"] > boxes["0"]["x"] and boxes["2"]["y"] > boxes["0"]["y"]


def test_replicated_parts_name_all_devices(mesh):
    sharding = NamedSharding(mesh, PartitionSpec("x"))
    svg = show(sharding, (8, 4)).svg()
    assert ">0, 1<" in svg and ">2, 3<" in svg and "[0:4, 0:4] on devices 0, 1" in svg
    assert "on devices 0, 1, 2, 3" in show(NamedSharding(mesh, PartitionSpec()), ()).svg()
    assert "dimension 0: 8" in show(sharding, (8,)).svg()


def test_arguments_on_several_devices_are_drawn(mesh):
    x = device_put(X, NamedSharding(mesh, PartitionSpec("x")))
    page = show(lambda params: params["x"] * 2, {"x": x})._repr_html_()
    assert "argument [0][&#x27;x&#x27;]" in page and 'class="placement"' in page


def test_notebooks_show_programs_shardings_and_stages(mesh):
    program = make_olympuspr(recurrent)({"w": X[:4]}, X)
    assert "as a graph" in program._repr_html_() and "scan[" in program._repr_html_()
    assert program.jaxpr._repr_html_().startswith("<div")
    sharding = NamedSharding(mesh, PartitionSpec("x"))
    assert 'class="part"' in sharding._repr_html_() and "x: 2" in sharding._repr_html_()
    abstract = NamedSharding(mesh.abstract_mesh, PartitionSpec("x"))
    assert "AbstractMesh" in abstract._repr_html_()
    single = jnp.ones(3).sharding
    assert "SingleDeviceSharding" in single._repr_html_()
    lowered = jit(recurrent).lower({"w": X[:4]}, X)
    assert "StableHLO" in lowered._repr_html_() and "float32[8,4]" in lowered._repr_html_()
    compiled = lowered.compile()._repr_html_()
    assert "HloModule" in compiled and "at its peak" in compiled


def test_memory_in_the_browser(opened):
    report = memory(grad(recurrent), {"w": X[:4]}, X)
    window = opened(report)
    rows = window.find_elements("css selector", "tbody tr")
    assert len(rows) == len(report.top)
    assert "test_pictures.py" in window.find_element("tag name", "table").text
    area = window.find_element("css selector", "svg.memory polygon.argument")
    assert area.size["width"] > 500 and area.size["height"] > 5


def test_explanation_in_the_browser(opened):
    compiled = jit(lambda params: params["w"] * 2)
    for size in (2, 3):
        compiled({"w": np.zeros(size)})
    window = opened(explain(compiled))
    assert (
        "params['w']: shape f32[3], before f32[2]" in window.find_element("tag name", "body").text
    )


def test_other_values_raise():
    with pytest.raises(TypeError, match="expected a function"):
        show("text")
