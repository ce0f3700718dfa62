# SPDX-License-Identifier: Apache-2.0
"""Choice of the versions with which packages are tested (tools/pairs.py)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from packaging.version import Version

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import pairs


def state(package: str, version: str, *dependencies: str) -> pairs.State:
    return pairs.State(package, Version(version), Path(), dependencies, ())


LOWER = [state("olympus-ir", each) for each in ("0.1.0", "0.1.1", "0.2.0", "0.3.0")]


@pytest.mark.parametrize(
    ("range_of_user", "lowest", "newest"),
    [
        (">=0.1.0,<0.3", "0.1.0", "0.2.0"),
        ("~=0.1.1", "0.1.1", "0.1.1"),
        (">=0.2", "0.2.0", "0.3.0"),
    ],
)
def test_lowest_and_newest_version_of_a_range(range_of_user: str, lowest: str, newest: str) -> None:
    user = state("olympus-random", "0.1.0", f"olympus-ir{range_of_user}", "numpy>=2.0")
    for is_newest, version in ((False, lowest), (True, newest)):
        (found,) = pairs.chosen(user, {"olympus-ir": LOWER}, is_newest).values()
        assert str(found.version) == version


def test_ranges_of_sibling_packages_constrain_the_version() -> None:
    batching = [
        state("olympus-batching", "0.1.0", "olympus-ir>=0.1.1,<0.3"),
        state("olympus-batching", "0.2.0", "olympus-ir>=0.3"),
    ]
    user = state("olympus-random", "0.1.0", "olympus-ir>=0.1", "olympus-batching>=0.1")
    states = {"olympus-ir": LOWER, "olympus-batching": batching}
    lowest = pairs.chosen(user, states, newest=False)
    assert {name: str(each.version) for name, each in lowest.items()} == {
        "olympus-ir": "0.1.1",
        "olympus-batching": "0.1.0",
    }
    newest = pairs.chosen(user, states, newest=True)
    assert {str(each.version) for each in newest.values()} == {"0.3.0", "0.2.0"}


def test_older_sibling_is_chosen_if_newest_conflicts() -> None:
    batching = [
        state("olympus-batching", "0.1.0", "olympus-ir<0.3"),
        state("olympus-batching", "0.1.1", "olympus-ir>=0.3"),
    ]
    user = state("olympus-random", "0.1.0", "olympus-batching>=0.1", "olympus-ir<0.3")
    found = pairs.chosen(user, {"olympus-ir": LOWER, "olympus-batching": batching}, True)
    assert str(found["olympus-batching"].version) == "0.1.0"


def test_incompatible_ranges_have_no_choice() -> None:
    batching = [state("olympus-batching", "0.1.0", "olympus-ir>=0.3")]
    user = state("olympus-random", "0.1.0", "olympus-ir<0.3", "olympus-batching>=0.1")
    assert pairs.chosen(user, {"olympus-ir": LOWER, "olympus-batching": batching}, False) is None


def test_working_tree_version() -> None:
    releases = [state("olympus-ir", each) for each in ("0.1.0.dev0", "0.1.0.dev0+tree")]
    user = state("olympus-random", "0.1.0", "olympus-ir~=0.1.0.dev0")
    for is_newest, version in ((False, "0.1.0.dev0"), (True, "0.1.0.dev0+tree")):
        (found,) = pairs.chosen(user, {"olympus-ir": releases}, is_newest).values()
        assert str(found.version) == version
