# SPDX-License-Identifier: Apache-2.0
"""Evaluates calls in one library and describes their outcomes.

``python run_calls.py olympus`` answers cases, one on each line: an expression of `calls`, its
dtype, its mode, and whether its results are computed. This file imports only NumPy and ml_dtypes,
so an interpreter with JAX can run it, too.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import calls

MEMORY = 8 * 2**30
#: The number of calls after which a library clears its compiled programs.
FORGET = 2000

Outcome = dict[str, Any]

# Texts of errors of tracing. Such a call may succeed with concrete arrays.
_ABSTRACT = re.compile("Tracer|Concretiz|traced|abstract|concrete|UnexpectedTracer|NonConcrete")


def library_frames(error: BaseException) -> list[str]:
    """Returns the frames of a traceback that are in a package of OLYMPUS."""
    frames = traceback.extract_tb(error.__traceback__)
    return [
        f"{frame.filename}:{frame.lineno} ({frame.name})"
        for frame in frames
        if re.search(r"[/\\\\]olympus(_\w+)?[/\\\\]", frame.filename)
    ]


def chained(error: BaseException) -> BaseException | None:
    """Returns the error that a traceback shows before the given error."""
    if error.__cause__ is not None:
        return error.__cause__
    return None if error.__suppress_context__ else error.__context__


def description(error: BaseException) -> Outcome:
    """Returns builtin kinds, type, text, frames and chain of an error, as a user sees them."""
    before = chained(error)
    kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"]
    return {
        "status": "error",
        "kinds": kinds[: kinds.index("Exception")] or ["Exception"],
        "type": type(error).__name__,
        "text": str(error)[:3000],
        "frames": library_frames(error),
        "chained": f"{type(before).__name__}: {before}"[:300] if before else "",
    }


def type_of(leaf: Any) -> str:
    """Returns dtype and shape of an array; "object" for others, whose types differ by library."""
    if not isinstance(leaf, type) and hasattr(leaf, "dtype") and hasattr(leaf, "shape"):
        return f"{leaf.dtype}{list(leaf.shape)}"
    return "object"


def _function(library: str, expression: str, mode: str, operands: list[Any]) -> Callable[..., Any]:
    """Returns the function that evaluates an expression in a mode."""
    root = calls.namespace(library)["root"]
    fun = calls.function(expression, library)
    if mode == "jit":
        return root.jit(fun)
    if mode == "vmap" and operands:
        return root.vmap(fun)
    if mode == "grad" and operands:
        return root.jacrev(fun)
    return fun


def evaluate(library: str, expression: str, dtype: str, mode: str, compute: bool = True) -> Outcome:
    """Evaluates an expression; returns the types of its results, or its error.

    Args:
      library: "olympus" or "jax".
      expression: an expression of `calls`.
      dtype: the dtype of operands that have none of their own.
      mode: "eager", "jit", "vmap" or "grad".
      compute: whether to compute the results. Otherwise the call is traced, which takes a fraction
        of the time; a call that needs concrete arrays is computed in any case.
    """
    names = calls.namespace(library)
    root = names["root"]
    operands = []
    for name in calls.operands_of(expression):
        value = calls.operand(name, dtype, 2 if mode == "vmap" else None)
        value = names["jnp"].asarray(value, dtype=value.dtype)
        operands.append(names["random"].wrap_key_data(value) if name == "key" else value)
    types: list[str] = []

    def called(*operands: Any) -> list[Any]:
        leaves = names["tree"].leaves(_function(library, expression, mode, operands)(*operands))
        types[:] = [type_of(leaf) for leaf in leaves][:20]
        return [leaf for leaf in leaves if isinstance(leaf, root.Array)]

    def traced(*operands: Any) -> tuple[()]:
        called(*operands)
        return ()

    try:
        if compute:
            root.block_until_ready(called(*operands))
        else:
            root.eval_shape(traced, *operands)
    except Exception as error:
        outcome = description(error)
        if compute or not _ABSTRACT.search(f"{outcome['type']} {outcome['text']}"):
            return outcome
        return evaluate(library, expression, dtype, mode)
    return {"status": "ok", "types": types}


def answer(library: str) -> None:
    """Evaluates the cases on the lines of standard input; prints a line for each answer."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    root = calls.namespace(library)["root"]
    replies = sys.stdout
    sys.stdout = sys.stderr
    print("{}", file=replies, flush=True)
    for number, line in enumerate(sys.stdin, 1):
        print(json.dumps(evaluate(library, *json.loads(line))), file=replies, flush=True)
        if number % FORGET == 0:
            root.clear_caches()


if __name__ == "__main__":
    answer(sys.argv[1])
