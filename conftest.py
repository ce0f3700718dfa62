# SPDX-License-Identifier: Apache-2.0
"""Settings shared by every test of the repository, also of packages that are tested alone."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

import pytest

try:
    from hypothesis import settings
except ImportError:  # not every package has property tests
    pass
else:
    # The verdict of a test never depends on the clock: machines are slow and busy.
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
    """Skips the tests marked ``slow`` when asked to."""
    if config.getoption("--skip-slow"):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="--skip-slow was given"))
