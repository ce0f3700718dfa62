# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from olympus_ir import Primitive, RuleTable
from olympus_ir.diagnostics.errors import MissingRuleError
from olympus_ir.programs.rules import all_tables


@pytest.fixture
def table():
    table = RuleTable("cost", package="my_package")
    yield table
    del all_tables["my_package.cost"]


a_p = Primitive("a", family="elementwise")
b_p = Primitive("b")


def test_define_and_look_up(table):
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


def test_a_missing_rule_says_which_file_to_edit(table):
    with pytest.raises(MissingRuleError, match=r"`a` has no cost rule.*my_package/rules/elementwi"):
        table[a_p]
    with pytest.raises(MissingRuleError, match=r"my_package's `cost_rules.define`"):
        table[b_p]
    with pytest.raises(NotImplementedError):
        table[b_p]


def test_exemptions(table):
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


def test_holes(table):
    assert len(table.holes([a_p, b_p])) == 2
    table.define(a_p, len)
    table.exempt(b_p, reason="it is free")
    assert table.holes([a_p, b_p]) == []
    table.exemptions[a_p] = ""
    problems = table.holes([a_p, b_p])
    assert any("is exempt from cost and has a rule" in problem for problem in problems)
    assert any("gives no reason" in problem for problem in problems)


def test_tables_are_known_by_name(table):
    assert all_tables["my_package.cost"] is table
    assert "olympus_ir.reference" in all_tables
