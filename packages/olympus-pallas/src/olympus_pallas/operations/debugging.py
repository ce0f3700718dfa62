# SPDX-License-Identifier: Apache-2.0
"""Debug prints and checks in kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.primitives import Primitive
from olympus_ir.settings import config_states
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.avals import get_aval

from .effects import check_effect

__all__ = [
    "debug_check",
    "debug_check_p",
    "debug_checks_enabled",
    "debug_print",
    "enable_debug_checks",
    "enable_poison_buffers",
]

debug_check_p = Primitive.declare("debug_check", multiple_results=True)


# Whether buffers of `run_scoped` are initially filled with NaN.
enable_poison_buffers = config_states.pallas_poison_buffers


def debug_print(fmt: str, *args: ArrayLike) -> None:
    """Prints a text and values while a kernel runs.

    Args:
      fmt: the text, with ``{}`` for each value. Without placeholders the values follow the text.
      *args: scalars or arrays.

    Raises:
      ValueError: the numbers of placeholders and values differ.
    """
    placeholders = fmt.count("{}")
    if placeholders and placeholders != len(args):
        raise ValueError(
            f"the text {fmt!r} has {placeholders} placeholders, but debug_print was given "
            f"{len(args)} values"
        )
    if not placeholders and args:
        fmt = fmt + " {}" * len(args)
    lax.debug_print(fmt, *args)


# ---- checks ----


# Flag and context manager that enables `debug_check` in kernels that are traced.
enable_debug_checks = config_states.pallas_enable_debug_checks


def debug_checks_enabled() -> bool:
    """Returns whether `debug_check` is enabled."""
    return enable_debug_checks.value


@debug_check_p.def_effectful_abstract_eval
def _debug_check_types(condition: Any, *, message: str) -> Any:
    return (), frozenset({check_effect})


@expansion_rules.define(debug_check_p)
def _debug_check(condition: Any, *, message: str) -> list[Any]:
    def check(holds: Any) -> None:
        if not holds:
            raise AssertionError(f"a check in a kernel failed: {message}")

    lax.debug_callback(check, condition)
    return []


def debug_check(condition: ArrayLike, message: str) -> None:
    """Checks a condition while a kernel runs, if checks are enabled.

    Args:
      condition: a boolean scalar.
      message: message of the error if the condition is false.

    Raises:
      ValueError: the condition is not a boolean scalar.

    See Also:
      `enable_debug_checks`, without which nothing is checked.
    """
    aval: Any = get_aval(condition)
    if aval.shape or aval.dtype != np.bool_:
        raise ValueError(f"debug_check takes a boolean scalar, got {aval.str_short()}")
    if enable_debug_checks.value:
        debug_check_p.bind(condition, message=message)
