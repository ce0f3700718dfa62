# SPDX-License-Identifier: Apache-2.0
"""`screened`, which makes a function also return whether one of its operations failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from olympus_ir.debugger.key_reuse import has_keys
from olympus_ir.lax.control_flow.primitives import scan_p, while_p
from olympus_ir.programs.olympuspr import Olympuspr, olympusprs_in_params
from olympus_ir.trees import pytrees
from olympus_ir.trees.wrapping import wraps

from ..tables import Enabled
from ..traced_calls import traced_call
from . import control_flow  # noqa: F401 - defines steps
from .programs import Screen
from .steps import union

__all__ = ["KeysFoundError", "screened"]

Params = ParamSpec("Params")
Result = TypeVar("Result")


class KeysFoundError(Exception):
    """Error for a program with random keys, if the caller tracks the uses of keys."""


def screened(
    f: Callable[Params, Result], errors: Enabled, *, stops_at_keys: bool = False
) -> Callable[Params, tuple[Any, Result]]:
    """Returns a function that also returns whether one of its operations may have failed.

    The flag is set whenever `checkify` with the same kinds of errors finds an error. The flag may
    also be set if an operand of the function is not finite, or if infinities that are not errors
    become NaNs.

    Args:
      f: the function.
      errors: the kinds of errors to look for: `NonFiniteError`, `ZeroDivisorError`, `OOBError`.
      stops_at_keys: whether tracing a program with random keys raises `KeysFoundError`.

    Returns:
      A function of the same arguments that returns a pair of the flag and the result. The function
      raises `NotScreenedError` if the flag cannot be computed.
    """
    enabled = frozenset(errors)

    @wraps(f)
    def screened_fun(*args: Params.args, **kwargs: Params.kwargs) -> tuple[Any, Result]:
        closed, out_tree = traced_call(f, args, kwargs, "checked")
        if stops_at_keys and has_keys(closed.jaxpr):
            raise KeysFoundError
        screen = Screen(closed, (), enabled)
        screen.stores = not _has_loops(closed.jaxpr)
        screen.cover([False] * len(screen.results))
        flags, results = screen.run()
        return union([np.asarray(False), *flags]), pytrees.tree_unflatten(out_tree, results)

    return screened_fun


def _has_loops(program: Olympuspr) -> bool:
    return any(
        equation.primitive in (scan_p, while_p)
        or any(map(_has_loops, olympusprs_in_params(equation.params)))
        for equation in program.eqns
    )
