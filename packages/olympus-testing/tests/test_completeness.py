# SPDX-License-Identifier: Apache-2.0
"""`assert_complete` fails for tables with missing rules, with a message that says what to add."""

from __future__ import annotations

import pytest

from olympus_ir import RuleTable, lax
from olympus_testing import assert_complete


def test_missing_rules_are_named():
    table = RuleTable("test", package="my_package")
    table.define(lax.sin_p, lambda x: x)
    with pytest.raises(
        AssertionError, match=r"`cos` has no test rule\. Add one to my_package/rules/"
    ):
        assert_complete(table, [lax.sin_p, lax.cos_p])
    table.exempt(lax.cos_p, reason="of no use")
    assert_complete(table, [lax.sin_p, lax.cos_p])


def test_stale_exemptions_are_named():
    table = RuleTable("test", package="my_package")
    table.exempt(lax.cos_p, reason="of no use")
    table.rules[lax.cos_p] = lambda x: x
    with pytest.raises(AssertionError, match="exempt from test and has a rule"):
        assert_complete(table, [lax.cos_p])
