# SPDX-License-Identifier: Apache-2.0
"""Checks of functions with rules of their own; the extra ``olympus[testing]`` installs them."""

from __future__ import annotations

import functools
import sys
from typing import Any

try:
    from olympus_testing import rules as _rules
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "olympus.testing needs the package olympus-testing: pip install 'olympus[testing]'"
    ) from error

__all__ = ["check_rule"]

_transformations: Any = sys.modules["olympus"]
check_rule = functools.partial(_rules.check_rule, transformations=_transformations)
functools.update_wrapper(check_rule, _rules.check_rule)
