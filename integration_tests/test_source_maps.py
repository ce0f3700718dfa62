# SPDX-License-Identifier: Apache-2.0
"""Source maps of compiled functions."""

from __future__ import annotations

import pathlib
import re

import pytest

import olympus
import olympus.numpy as jnp
from olympus.experimental import source_mapper
from olympus.experimental.source_mapper import MappingsGenerator, SourceMap

LINES = pathlib.Path(__file__).read_text().split("\n")


def function(x):
    y = jnp.sin(x)
    return y * 3


def decoded(dump):
    """For each mapped place the text of its line behind the column, and the line of its source."""
    places = []
    origin = [0, 0, 0]
    lines = dump.generated_code.split("\n")
    assert len(dump.source_map.mappings) == len(lines)
    for line, group in zip(lines, dump.source_map.mappings, strict=True):
        column = 0
        for step, *moved in group:
            column += step
            origin = [known + change for known, change in zip(origin, moved, strict=True)]
            assert dump.source_map.sources[origin[0]] == __file__
            places.append((line[column:], LINES[origin[1]][origin[2] :]))
    return places


@pytest.mark.parametrize("name", ["jaxpr", "hlo:stable-hlo", "hlo:original", "hlo:optimized"])
def test_passes_map_operations_to_source_lines(name):
    (dump,) = source_mapper.generate_sourcemaps(function, source_mapper.filter_passes(f"^{name}$"))(
        1.0
    )
    assert dump.pass_name == name
    places = decoded(dump)
    sines, products = (
        [source for text, source in places if re.search(operation, text.split(";")[0])]
        for operation in (r"= sin |sine[ (]", r"= mul |multiply[ (]")
    )
    assert sines[0].startswith("jnp.sin(x)")
    assert products[0].startswith("y * 3")


def test_equations_of_nested_programs():
    def nested(x):
        return olympus.jit(function)(x) + 1

    (dump,) = source_mapper.generate_sourcemaps(nested, source_mapper.filter_passes("jaxpr"))(1.0)
    found = {
        text.split(" = ")[1].split("[")[0].split(" ")[0]: source for text, source in decoded(dump)
    }
    assert found["sin"].startswith("jnp.sin(x)") and found["add"].startswith("olympus.jit")


def test_mappings_are_base64_vlq():
    """Mappings are base64 VLQ as in ECMA-426."""
    generator = MappingsGenerator()
    generator.new_group()
    generator.new_segment(0, 0, 0, 0)
    generator.new_segment(5, 0, 3, 2)
    generator.new_group()
    generator.new_segment(1, 0, 10, 3, 0)
    generator.new_segment(1000, 0, 0, 0)
    made = SourceMap(3, ["a.py"], [""], [], generator.mappings())
    assert made.mappings[1] == [(1, 0, 7, 1, 0), (999, 0, -10, -3)]
    text = made.to_json()
    assert text.endswith('"mappings": "AAAA,KAGE;CAOCA,u+BAVH"}')
    assert SourceMap.from_json(text) == made


def test_locations_are_read_from_mlir_text():
    text = (
        "module {\n"
        "  %0 = a.op loc(#loc3)\n"
        "} loc(#loc)\n"
        "#loc = loc(unknown)\n"
        '#loc1 = loc("b.py":7:2)\n'
        '#loc2 = loc("a.py":3:4 to :9)\n'
        '#loc3 = loc("name"(callsite("f"(#loc2) at #loc1)))'
    )
    found = source_mapper.create_mlir_sourcemap(text)
    assert found.sources == ["a.py"]
    assert found.mappings[1] == [(2, 0, 2, 4)] and found.mappings[2] == []


def test_passes_are_registered_once():
    names = [each.name for each in source_mapper.all_passes()]
    assert names == ["jaxpr", "hlo:stable-hlo", "hlo:original", "hlo:optimized"]
    with pytest.raises(ValueError, match="registered already"):
        source_mapper.register_pass(source_mapper.all_passes()[0])


def test_flags_and_options():
    compiled = source_mapper.compile_with_env(
        function, (1.0,), {}, {"olympus_enable_x64": True}, {"xla_cpu_enable_fast_math": False}
    )
    assert "f64" in compiled.as_text() and not olympus.config.olympus_enable_x64
    assert source_mapper.canonicalize_filename("<stdin>") == "<stdin>"
