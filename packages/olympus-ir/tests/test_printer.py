# SPDX-License-Identifier: Apache-2.0
"""The text of programs is that of jax 0.10.2."""

from __future__ import annotations

import importlib.util
import json
import pathlib
from types import SimpleNamespace

import numpy as np
import pytest

from olympus_ir import ShapedArray, lax, trace_to_olympuspr
from olympus_ir.diagnostics.documents import Break, Concatenation, Group, Nest, Text, layout
from olympus_ir.programs.checker import check_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr, named_scope
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.print_rules import hide, printing_rules
from olympus_ir.programs.printer import format_equation
from olympus_ir.settings.config_flags import pprint_use_color

DATA = pathlib.Path(__file__).parent / "data"
# Made by data/record_printed_programs.py.
RECORD = json.loads((DATA / "printed_programs.json").read_text("utf-8"))


def _load_programs():
    specification = importlib.util.spec_from_file_location(
        "printed_programs", DATA / "printed_programs.py"
    )
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


programs = _load_programs()
namespace = SimpleNamespace(
    lax=lax,
    jit=jit,
    named_scope=named_scope,
    debug_print=lax.debug_print,
    pure_callback=lax.pure_callback,
    io_callback=lax.io_callback,
)
F32 = ShapedArray((), np.float32)


def test_the_record_is_complete():
    assert set(RECORD) == set(programs.PROGRAMS)


@pytest.mark.parametrize("name", RECORD)
def test_text_equals_jax(name):
    fun, args, *keywords = programs.PROGRAMS[name](namespace)
    make_keywords, print_keywords = [*keywords, {}, {}][:2]
    closed = make_olympuspr(fun, **make_keywords)(*args)
    text = closed.pretty_print(**print_keywords).replace(programs.__file__, "<programs>")
    assert text == RECORD[name]
    if "axis_env" not in make_keywords:
        check_olympuspr(closed)


def test_single_equations_are_printed():
    olympuspr, _ = trace_to_olympuspr(lambda x: [lax.add(lax.sin(x), 1.0)], [F32])
    assert [str(equation) for equation in olympuspr.eqns] == [
        "a:f32[] = sin b",
        "a:f32[] = add b 1.0:f32[]",
    ]
    assert format_equation(olympuspr.eqns[1], print_shapes=False) == "a = add b 1.0:f32[]"


def test_rule_of_a_third_party():
    root_p = Primitive("root")
    root_p.def_abstract_eval(lambda x, *, degree, exact: x)

    def program(x):
        return [root_p.bind(root_p.bind(x, degree=2, exact=True), degree=3, exact=True)]

    olympuspr, _ = trace_to_olympuspr(program, [F32])
    assert "root[degree=2 exact=True] a" in str(olympuspr)
    printing_rules.define(root_p, hide(degree=2))
    assert "root[exact=True] a" in str(olympuspr)
    assert "root[degree=3 exact=True] b" in str(olympuspr)


def test_deep_nesting_needs_no_recursion():
    def nested(x, depth):
        return lax.sin(x) if not depth else jit(lambda y: nested(y, depth - 1))(x)

    text = str(trace_to_olympuspr(lambda x: [nested(x, 60)], [F32])[0])
    assert text.count("jit[") == 60


def test_many_equations_print_in_linear_time():
    def chain(x):
        for _ in range(5000):
            x = lax.sin(x)
        return [x]

    text = str(trace_to_olympuspr(chain, [F32])[0])
    assert text.count("\n") == 5001
    assert text.endswith("in (hki,) }")


class TestDocuments:
    def items(self, count):
        return [Text("item"), *(part for _ in range(count) for part in (Break(), Text("item")))]

    def test_short_group_is_flat(self):
        assert layout(Group(Concatenation(self.items(2))), width=14) == "item item item"

    def test_group_wider_than_the_line_is_broken(self):
        group = Group(Nest(2, Concatenation(self.items(2))))
        assert layout(group, width=13) == "item\n  item\n  item"

    def test_groups_are_broken_from_outside_to_inside(self):
        inner = Group(Concatenation(self.items(1)))
        document = Group(Concatenation([inner, Break(), inner]))
        assert layout(document, width=10) == "item item\nitem item"

    def test_annotations_are_aligned(self):
        lines = Concatenation(
            [Text("a", annotations=["first"]), Break(), Text("bbb", annotations=["x", "y"])]
        )
        assert layout(lines) == "a   # first\nbbb # x\n    # y"


def test_terminals_show_colors_where_flag_allows_them(monkeypatch):
    program = trace_to_olympuspr(lambda x: [lax.sin(x)], [ShapedArray((), "float32")])[0]
    plain = str(program)
    assert "\x1b" not in plain
    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: True))
    # Recorded with jax 0.10.2 on a terminal: the words of the program, and the types.
    assert "\x1b[34;1mlet\x1b[39;22m b\x1b[35m:f32[]\x1b[39m = sin a" in str(program)
    assert program.pretty_print(use_color=False) == plain
    pprint_use_color.update(False)
    try:
        assert str(program) == plain
    finally:
        pprint_use_color.update(True)
