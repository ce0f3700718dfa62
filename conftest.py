# SPDX-License-Identifier: Apache-2.0
"""Settings shared by every test of the repository, also of packages that are tested alone."""

from __future__ import annotations

import pytest

try:
    from hypothesis import settings
except ImportError:  # not every package has property tests
    pass
else:
    # The verdict of a test never depends on the clock: machines are slow and busy.
    settings.register_profile("olympus", deadline=None)
    settings.load_profile("olympus")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--skip-slow``, which leaves out the tests marked ``slow``."""
    parser.addoption("--skip-slow", action="store_true", help="leave out tests marked slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skips the tests marked ``slow`` when asked to."""
    if config.getoption("--skip-slow"):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="--skip-slow was given"))
