# SPDX-License-Identifier: Apache-2.0
"""Checks of derivatives and of custom rules; the extra ``olympus[testing]`` installs them."""

from __future__ import annotations

import functools
import sys
from typing import Any

try:
    from olympus_testing import complex_steps as _complex_steps
    from olympus_testing import rules as _rules
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "olympus.testing needs the package olympus-testing: pip install 'olympus[testing]'"
    ) from error

__all__ = ["check_complex_step", "check_rule"]

_transformations: Any = sys.modules["olympus"]
check_rule = functools.partial(_rules.check_rule, transformations=_transformations)
functools.update_wrapper(check_rule, _rules.check_rule)

check_complex_step = functools.partial(
    _complex_steps.check_complex_step, jvp=_transformations.jvp, vjp=_transformations.vjp
)
functools.update_wrapper(check_complex_step, _complex_steps.check_complex_step)
