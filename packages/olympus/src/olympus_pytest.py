# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest with the option ``--olympus-tiers``.

Test suites spend most of their time compiling programs that they run once. With the option,
functions compiled with `jit` run on NumPy first (`olympus_xla.calls.on_reference.tiers`). Pytest
imports this module in every run, before the files that set environment variables. The module
therefore imports nothing of OLYMPUS.
"""

from __future__ import annotations

import os
import sys
from typing import Any

_VARIABLE = "OLYMPUS_TIERS"


def pytest_addoption(parser: Any) -> None:
    """Adds the option ``--olympus-tiers`` to pytest."""
    parser.getgroup("olympus").addoption(
        "--olympus-tiers",
        action="store_true",
        help="run jitted functions on NumPy first, and compile those that are called again",
    )


def pytest_configure(config: Any) -> None:
    """Turns the flag ``olympus_tiers`` on, for this process and its subprocesses."""
    if config.getoption("olympus_tiers"):
        os.environ[_VARIABLE] = "1"
        flags = sys.modules.get("olympus_ir.settings.config_flags")
        if flags is not None:
            flags.tiers.update(True)
