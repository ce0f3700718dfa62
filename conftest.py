# SPDX-License-Identifier: Apache-2.0
"""Settings shared by every test of the repository, also of packages that are tested alone."""

from __future__ import annotations

import atexit
import inspect
import os
import shutil
import tempfile

import pytest

try:
    from hypothesis import settings
except ImportError:  # not every package has property tests
    pass
else:
    # No deadline: the result of a test must not depend on the speed of the machine.
    settings.register_profile("olympus", deadline=None)
    settings.load_profile("olympus")

# Compiled programs are kept on disk by default. Tests, and processes that they start, neither read
# nor write the user's own folder.
_CACHES = tempfile.mkdtemp(prefix="olympus-tests-")
os.environ["LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME"] = _CACHES
atexit.register(shutil.rmtree, _CACHES, ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--thorough``, which leaves out the tests marked ``thorough``, or all others."""
    parser.addoption(
        "--thorough",
        choices=("run", "skip", "only"),
        default="run",
        help="the tests marked thorough: run them too, skip them, or run only them",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out tests as ``--thorough`` says, and examples that another package runs."""
    leave_out_presented_examples(config, items)
    choice = config.getoption("--thorough")
    if choice != "run":
        wanted = choice == "only"
        leave_out(config, items, {item for item in items if is_thorough(item) != wanted})


def is_thorough(item: pytest.Item) -> bool:
    """Whether ``@pytest.mark.thorough`` marks a test: each of its cases, or the named ones."""
    case = getattr(item, "callspec", None)
    name = case.id if case else None
    return any(not mark.args or name in mark.args for mark in item.iter_markers("thorough"))


def leave_out(config: pytest.Config, items: list[pytest.Item], unwanted: set[pytest.Item]) -> None:
    """Removes the unwanted tests from the collected ones, and reports them as deselected."""
    if unwanted:
        config.hook.pytest_deselected(items=[item for item in items if item in unwanted])
        items[:] = [item for item in items if item not in unwanted]


def leave_out_presented_examples(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out examples of functions that `olympus` presents and another package defines.

    Such functions name `olympus` as their module. They have no line in its files.
    """
    presented = {
        item
        for item in items
        if isinstance(item, pytest.DoctestItem)
        and "packages/olympus/src" in item.path.as_posix()
        and (item.dtest.lineno is None or is_defined_elsewhere(item))
    }
    leave_out(config, items, presented)


def is_defined_elsewhere(item: pytest.DoctestItem) -> bool:
    """Returns whether an example belongs to a function that another file defines."""
    value = item.dtest.globs.get(item.dtest.name.rpartition(".")[2])
    code = getattr(inspect.unwrap(value), "__code__", None) if callable(value) else None
    return code is not None and code.co_filename != str(item.path)
