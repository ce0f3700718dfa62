# SPDX-License-Identifier: Apache-2.0
"""`located`, which makes a function also return its first failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from olympus_ir.programs.dead_code import dce_closed
from olympus_ir.trees import pytrees
from olympus_ir.trees.wrapping import wraps
from olympus_ir.types.typed_scalars import typed

from .errors import Error, init_error
from .interpreter import run
from .rules import checked_results, manual_map  # noqa: F401 - primitives without a family
from .tables import Enabled
from .traced_calls import traced_call

__all__ = ["located"]

Params = ParamSpec("Params")
Result = TypeVar("Result")


def located(f: Callable[Params, Result], errors: Enabled) -> Callable[Params, tuple[Error, Result]]:
    """Returns a function that also returns the errors of its operations.

    It differs from `checkify` in that operations whose results are not needed are not run.

    Args:
      f: the function.
      errors: the kinds of errors to look for.

    Returns:
      A function of the same arguments that returns a pair of the `Error` and the result.
    """

    @wraps(f)
    def located_f(*args: Params.args, **kwargs: Params.kwargs) -> tuple[Error, Result]:
        closed, out_tree = traced_call(f, args, kwargs, "checked")
        needed, _ = dce_closed(closed, [True] * len(closed.out_avals))
        error, results = run(needed, errors, init_error, ())
        return error, pytrees.tree_unflatten(out_tree, map(typed, results))

    return located_f
