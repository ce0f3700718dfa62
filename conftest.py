# SPDX-License-Identifier: Apache-2.0
"""Settings shared by every test of the repository. Imports pytest and nothing more."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--skip-slow``, which leaves out the tests marked ``slow``."""
    parser.addoption("--skip-slow", action="store_true", help="leave out tests marked slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skips the tests marked ``slow`` when asked to."""
    if config.getoption("--skip-slow"):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="--skip-slow was given"))
