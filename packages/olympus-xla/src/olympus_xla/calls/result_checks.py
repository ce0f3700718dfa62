# SPDX-License-Identifier: Apache-2.0
"""Checks after each computation: ``debug_nans``, ``debug_infs`` and ``debug_key_reuse``.

If a result of a compiled program has a NaN, the program is run again operation by operation. The
error can then name the operation and the user's line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir.diagnostics import source_info
from olympus_ir.lax.core.values import invalid_elements
from olympus_ir.loading import deferred
from olympus_ir.programs.calls.traced_programs import TracedProgram
from olympus_ir.programs.evaluation import bind_equation, run_equations
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation
from olympus_ir.settings import config_states

if TYPE_CHECKING:
    from olympus_ir.debugger import key_reuse
else:
    key_reuse = deferred("olympus_ir.debugger.key_reuse", milliseconds=19.0)

_debug_nans = config_states.debug_nans
_debug_infs = config_states.debug_infs
_debug_key_reuse = config_states.debug_key_reuse


def checks_results() -> bool:
    """Returns whether one of the debug flags is set."""
    return bool(_debug_nans.value or _debug_infs.value or _debug_key_reuse.value)


def check_results(program: TracedProgram, leaves: Sequence[Any], results: Sequence[Any]) -> None:
    """Checks a computation as the debug flags request.

    Raises:
      FloatingPointError: a result has a NaN or an infinity.
      KeyReuseError: a random key has been used before.
    """
    if _debug_key_reuse.value:
        key_reuse.check_key_reuse("jit-compiled function", program.closed, leaves, results)
    if not (_debug_nans.value or _debug_infs.value):
        return
    for result in results:
        complaint = invalid_elements(result)
        if complaint is not None:
            donated = program.params.get("donated_invars", ())
            where = None if any(donated) else _culprit(program.closed, leaves)
            name = program.params.get("name", "a computation")
            raise FloatingPointError(_message(complaint, where, name, leaves))


def _message(complaint: str, where: str | None, name: str, leaves: Sequence[Any]) -> str:
    first = "Invalid" if where and where.startswith("sharded") else "invalid"
    message = f"{first} value ({complaint}) encountered in {where or name}"
    message += f", of the computation {name}." if where else "."
    if where is None or any(map(_invalid_input, leaves)):
        message += (
            " Run operation by operation, the de-optimized function did not produce invalid values "
            "of its own from valid ones: look for them in an input or in a literal, such as "
            "`nan` in the code."
        )
    return message


def _invalid_input(leaf: Any) -> bool:
    if leaf.__class__ is float or leaf.__class__ is complex:
        leaf = np.asarray(leaf)
    deleted = getattr(leaf, "is_deleted", None)  # true for donated arrays
    if not hasattr(leaf, "dtype") or (deleted is not None and deleted()):
        return False
    return invalid_elements(leaf) is not None


def _culprit(closed: ClosedOlympuspr, leaves: Sequence[Any]) -> str | None:
    """Returns the first operation whose result has a NaN or an infinity, with the user's line.

    Returns None if there is no such operation.
    """
    applied: list[tuple[Equation, Sequence[Any], Sequence[Any]]] = []

    def apply(equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
        results = bind_equation(equation, operands)
        applied.append((equation, operands, results))
        return results

    with _debug_nans(False), _debug_infs(False):
        run_equations(closed.jaxpr, closed.consts, leaves, apply)
    for equation, operands, results in applied:
        if any(invalid_elements(result) for result in results):
            inner = equation.params.get("jaxpr")
            # A mapped program runs on shards, so it cannot be run on whole arrays.
            is_mapped = "mesh" in equation.params
            if (
                not is_mapped
                and isinstance(inner, ClosedOlympuspr)
                and len(inner.in_avals) == len(operands)
            ):
                culprit = _culprit(inner, operands)
                if culprit:
                    return culprit
            line = source_info.summarize(equation.source_info)
            if is_mapped:
                return f"sharded computation at {line}"
            return f"{equation.primitive.name} at {line}"
    return None
