# SPDX-License-Identifier: Apache-2.0
"""`profile` counts operations as textbooks do, and shows lines, flames and the roofline."""

from __future__ import annotations

import time

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_autodiff import grad
from olympus_insight import profile
from olympus_insight.flames import flame_graph
from olympus_insight.profiles import Profile, _own_times
from olympus_ir import lax
from olympus_ir.lax.callbacks import pure_callback
from olympus_xla import jit
from olympus_xla.profiling import profiler

X = np.ones((64, 32), np.float32)


def hidden(w, x):
    return jnp.tanh(x @ w)


def loss(w, x):
    return jnp.sum(hidden(w, x) ** 2)


@pytest.fixture(scope="module")
def report():
    return profile(grad(loss), np.ones((32, 48), np.float32), X)


def test_operations_of_a_product():
    product = profile(lambda a, b: lax.dot(a, b), X, np.ones((32, 16), np.float32))
    assert product.flops == 2 * 64 * 32 * 16
    assert product.bytes == 4 * (64 * 32 + 32 * 16 + 64 * 16)
    assert 0 < product.seconds < 5 and 3 <= product.runs <= 10


def test_slow_programs_are_measured_once():
    runs = []

    def slow(x):
        runs.append(x)
        time.sleep(0.6)
        return x

    x = np.ones(3, np.float32)
    found = profile(lambda x: pure_callback(slow, x, x), x)
    assert found.runs == 1 and "(measured once)" in str(found)
    assert len(runs) == 2  # the first run is not measured


def test_operations_in_loops_count_once_per_iteration():
    def repeated(a):
        return lax.fori_loop(0, 7, lambda _, x: lax.dot(x, x), a)

    found = profile(repeated, np.ones((24, 24), np.float32))
    assert found.flops == pytest.approx(7 * 2 * 24**3, rel=0.02)
    (product,) = [each for each in found.operations if each.flops >= 2 * 24**3]
    assert product.executions == 7


def test_operations_of_a_convolution():
    found = profile(
        lambda x, w: lax.conv(x, w, (1, 1), "VALID"),
        np.ones((2, 3, 10, 10), np.float32),
        np.ones((5, 3, 3, 3), np.float32),
    )
    assert found.flops == pytest.approx(2 * (2 * 5 * 8 * 8) * 27, rel=0.02)


def test_operations_agree_with_the_compiler(report):
    compiled = jit(grad(loss)).lower(np.ones((32, 48), np.float32), X).compile()
    assert report.flops == pytest.approx(compiled.cost_analysis()["flops"], rel=0.1)


def test_lines_and_stacks_of_user_code(report):
    assert {each.function for each in report.operations[0].stack} >= {"loss"}
    assert any("jnp.tanh" in line.text for line in report.lines if line)
    known = sum(seconds for line, seconds in report.lines.items() if line)
    assert known > 0.5 * sum(each.seconds for each in report.operations)
    assert "test_profiles.py" in str(report) and "first call: trace" in str(report)


def test_timeline_has_the_steps(report):
    assert list(report.timeline) == ["trace", "lower", "compile", "run"]
    assert all(seconds > 0 for seconds in report.timeline.values())
    assert report.rates.flops > 1e6 and report.rates.bytes > 1e6


def test_donated_and_static_arguments():
    x = jnp.ones(100)
    update = jit(lambda x, power, times=1: x**power * times, donate_argnums=0, static_argnums=1)
    assert profile(update, x, 2, times=3.0).seconds > 0
    assert not x.is_deleted()


def test_self_times_exclude_nested_events():
    class Event:
        def __init__(self, name, start, duration):
            self.start_ns, self.duration_ns, self.stats = start, duration, [("hlo_op", name)]

    class Thread:
        def __init__(self, *events):
            self.events = [Event(*event) for event in events]

    thread = Thread(("loop", 0, 100), ("a", 10, 20), ("b", 40, 50), ("c", 50, 10), ("d", 200, 5))
    times = {name: round(seconds * 1e9) for name, seconds in _own_times(thread, "module", set())}
    assert times == {"loop": 30, "a": 20, "b": 40, "c": 10, "d": 5}


def test_flame_graph_adds_up():
    svg = flame_graph("program", [(("f", "g"), 1.0), (("f", "h"), 2.0), (("k",), 1.0)])
    widths = {
        part.split('data-n="')[1].split('"')[0]: float(part.split('data-w="')[1].split('"')[0])
        for part in svg.split("<g ")[1:]
    }
    assert widths == {"program": 1.0, "f": 0.75, "g": 0.25, "h": 0.5, "k": 0.25}
    assert flame_graph("program", []) == ""


def test_report_in_the_browser(opened, report):
    window = opened(report)
    assert "Profile of" in window.title
    for name in ("steps", "flames", "roofline"):
        assert window.find_element("css selector", f"svg.{name}").size["width"] > 400
    assert window.find_elements("css selector", "svg.roofline circle")
    rows = window.find_elements("css selector", "table tbody tr")
    assert len(rows) >= 2


def test_click_zooms_into_a_frame(opened):
    class Report(Profile):
        def __init__(self):
            pass

        def _repr_html_(self):
            return flame_graph("program", [(("f", "g"), 1.0), (("f", "h"), 2.0), (("k",), 1.0)])

        name = "flames"

    window = opened(Report())

    def flames():
        return {
            each.get_attribute("data-n"): each.find_element("css selector", "rect").size["width"]
            for each in window.find_elements("css selector", "svg.flames g")
            if each.is_displayed()
        }

    assert flames() == {"program": 1100, "f": 825, "g": 275, "h": 550, "k": 275}
    window.find_element("css selector", "g[data-n=h] rect").click()
    assert flames() == {"program": 1100, "f": 1100, "h": 1100}
    window.find_element("css selector", "g[data-n=program] rect").click()
    assert flames() == {"program": 1100, "f": 825, "g": 275, "h": 550, "k": 275}


def test_active_trace_raises(tmp_path):
    profiler.start_trace(tmp_path)
    try:
        with pytest.raises(RuntimeError, match="already been started"):
            profile(lambda x: x + 1, X)
    finally:
        profiler.stop_trace()


def test_compiled_programs_are_refused():
    compiled = jit(jnp.sin).lower(1.0).compile()
    with pytest.raises(TypeError, match="got a compiled program: pass the function"):
        profile(compiled, 1.0)
