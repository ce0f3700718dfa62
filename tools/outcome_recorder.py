# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest that writes the outcome of each test immediately, before a later crash.

The variable ``OUTCOMES`` names a file of JSON lines. Tests whose outcome is already in the file are
skipped. The variable ``SHARD``, such as ``2/5``, selects a part of the tests: every fifth test,
beginning with the second.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

_RECORD = Path(os.environ["OUTCOMES"])
_PART, _PARTS = map(int, os.environ.get("SHARD", "1/1").split("/"))


def _write(test: str, outcome: str) -> None:
    with _RECORD.open("a") as file:
        file.write(json.dumps({"test": test, "outcome": outcome}) + "\n")


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Deselects tests of other shards, and tests that an earlier process has started."""
    lines = _RECORD.read_text().splitlines() if _RECORD.exists() else []
    started = {json.loads(line)["test"] for line in lines}
    items[:] = [item for item in items[_PART - 1 :: _PARTS] if item.nodeid not in started]


def pytest_runtest_logstart(nodeid: str) -> None:
    """Records the start of a test."""
    _write(nodeid, "started")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Records the outcome of a test, and failures of its fixtures."""
    if report.when == "call" or report.outcome != "passed":
        in_fixture = report.failed and report.when != "call"
        _write(report.nodeid, "error" if in_fixture else report.outcome)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Records a test file that cannot be imported."""
    if report.failed:
        _write(report.nodeid, "error")
