# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import concurrent.futures
import importlib
import sys
import threading

import pytest

from olympus_ir import Primitive, RuleTable, lax
from olympus_ir.diagnostics.errors import MissingRuleError
from olympus_ir.programs.rules import all_tables
from olympus_ir.reference.tables import reference_rules


@pytest.fixture
def table():
    table = RuleTable("cost", package="my_package")
    yield table
    del all_tables["my_package.cost"]


a_p = Primitive.declare("a", family="elementwise")
b_p = Primitive("b")


def test_define_and_get(table):
    table.define(a_p, len)

    @table.define(b_p)
    def rule(x):
        return x

    assert table[a_p] is len
    assert table[b_p] is rule
    assert table.get(Primitive("c"), 1) == 1
    assert list(table) == [a_p, b_p]
    assert len(table) == 2
    assert a_p in table


def test_a_second_rule_is_refused(table):
    table.define(a_p, len)
    with pytest.raises(ValueError, match="a has a cost rule already"):
        table.define(a_p, max)
    table[a_p] = max
    assert table[a_p] is max


def test_missing_rule_error_names_the_file(table):
    with pytest.raises(MissingRuleError, match=r"`a` has no cost rule.*my_package/rules/elementwi"):
        table[a_p]
    with pytest.raises(MissingRuleError, match=r"my_package's `cost_rules.define`"):
        table[b_p]
    with pytest.raises(NotImplementedError):
        table[b_p]


def test_exemptions_are_reported_with_their_reason(table):
    table.exempt(a_p, reason="it is free")
    with pytest.raises(MissingRuleError, match="it is free"):
        table[a_p]
    with pytest.raises(ValueError, match=r"exempt from cost \(it is free\)"):
        table.define(a_p, len)
    with pytest.raises(ValueError, match="needs a reason"):
        table.exempt(b_p, reason=" ")
    table.define(b_p, len)
    with pytest.raises(ValueError, match="cannot be exempt"):
        table.exempt(b_p, reason="no")


def test_holes_are_primitives_without_rule_or_exemption(table):
    assert len(table.holes([a_p, b_p])) == 2
    table.define(a_p, len)
    table.exempt(b_p, reason="it is free")
    assert table.holes([a_p, b_p]) == []
    table.exemptions[a_p] = ""
    problems = table.holes([a_p, b_p])
    assert any("is exempt from cost and has a rule" in problem for problem in problems)
    assert any("has no reason" in problem for problem in problems)


def test_tables_are_known_by_name(table):
    assert all_tables["my_package.cost"] is table
    assert all_tables["olympus_ir.reference"] is reference_rules


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package `own_costs` with rule files of two families; one fails on import."""
    folder = tmp_path / "own_costs" / "rules"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "__init__.py").touch()
    (folder.parent / "tables.py").write_text(
        "from olympus_ir import RuleTable\ncosts = RuleTable('own cost', package='own_costs')\n"
    )
    (folder / "elementwise.py").write_text(
        "from olympus_ir import lax\nfrom ..tables import costs\ncosts.define(lax.sin_p, len)\n"
    )
    (folder / "shaping.py").write_text("import module_that_nobody_has\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("own_costs.tables").costs
    del all_tables["own_costs.own cost"]
    for name in [name for name in sys.modules if name.partition(".")[0] == "own_costs"]:
        del sys.modules[name]


def test_first_lookup_loads_the_family(package):
    assert package.rules == {}
    assert "own_costs.rules.elementwise" not in sys.modules
    assert package[lax.sin_p] is len
    assert package.rules == {lax.sin_p: len}
    assert package.find(Primitive.declare("d", family="no_such_family")) is None


def test_errors_in_a_rule_file_are_raised(package):
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="module_that_nobody_has"):
            package.find(lax.reshape_p)


def test_assignment_replaces_unloaded_rule(package):
    package[lax.sin_p] = max
    assert package[lax.sin_p] is max


def test_threads_wait_for_the_rules(package):
    barrier = threading.Barrier(8)

    def look_up(_):
        barrier.wait()
        return package[lax.sin_p]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert set(pool.map(look_up, range(8))) == {len}


def test_rules_are_derived_from_declarations(table):
    table.derive("its name", lambda primitive: len if primitive.name == "a" else None)
    assert table[a_p] is len
    assert table.derived[a_p] == "its name"
    assert table.find(b_p) is None
    table.define(a_p, max)  # a rule wins over a derived one
    assert table[a_p] is max
    assert a_p not in table.derived
    assert table.holes([a_p]) == []


def test_exempt_primitives_are_not_derived(table):
    table.derive("anything", lambda primitive: len)
    table.exempt(a_p, reason="it is free")
    assert table.find(a_p) is None
