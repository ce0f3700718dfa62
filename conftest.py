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
    """Adds ``--skip-slow``, which leaves out the tests marked ``slow``."""
    parser.addoption("--skip-slow", action="store_true", help="leave out tests marked slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skips the tests marked ``slow`` when asked to, and examples that another package runs."""
    leave_out_presented_examples(config, items)
    if config.getoption("--skip-slow"):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="--skip-slow was given"))


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
    if presented:
        config.hook.pytest_deselected(items=list(presented))
        items[:] = [item for item in items if item not in presented]


def is_defined_elsewhere(item: pytest.DoctestItem) -> bool:
    """Returns whether an example belongs to a function that another file defines."""
    value = item.dtest.globs.get(item.dtest.name.rpartition(".")[2])
    code = getattr(inspect.unwrap(value), "__code__", None) if callable(value) else None
    return code is not None and code.co_filename != str(item.path)
