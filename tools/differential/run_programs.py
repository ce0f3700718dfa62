# SPDX-License-Identifier: Apache-2.0
"""Runs the texts of programs in one library, in several execution modes.

``python run_programs.py olympus`` reads programs from its input. A line of JSON is a list of
programs; a program is a list of requests, the arguments of `Library.run`. This file imports only
NumPy, so an interpreter with JAX can run it, too.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import gc
import importlib
import json
import pathlib
import resource
import sys
import traceback
import warnings
import zlib
from typing import Any

import numpy as np

MEMORY = 8 * 2**30
#: Resident memory from which the caches are cleared, in bytes. Programs share most operations.
FULL = 2 * 2**30

Outcome = dict[str, Any]


class Numeric:
    """Derivatives by central differences."""

    def __init__(self, jnp: Any, run: Any, step: float) -> None:
        self.jnp, self.run, self.step = jnp, run, step

    def _slope(self, fun: Any, point: Any, direction: Any) -> list[Any]:
        ahead, behind = (
            fun(*(p + sign * self.step * t for p, t in zip(point, direction, strict=True)))
            for sign in (1, -1)
        )
        return [(a - b) / (2 * self.step) for a, b in zip(ahead, behind, strict=True)]

    def jvp(self, fun: Any, point: Any, tangents: Any) -> Any:
        """Returns results and tangents; tangents of integers are meaningless."""
        jnp, fun = self.jnp, self.run(fun)
        results = fun(*point)

        def inexact(*args: Any) -> list[Any]:
            return [
                y + 0.0 * 1 if jnp.issubdtype(y.dtype, jnp.inexact) else 0.0 for y in fun(*args)
            ]

        return results, self._slope(inexact, point, tangents)

    def vjp(self, part: Any, point: Any) -> Any:
        """Returns results, the function from cotangents to gradients, and auxiliary data."""
        jnp, part = self.jnp, self.run(part)
        results, rest = part(*point)

        def pull(cotangents: Any) -> list[Any]:
            def pairing(*args: Any) -> list[Any]:
                pairs = zip(cotangents, part(*args)[0], strict=True)
                return [sum(jnp.sum(jnp.real(ct * y)) for ct, y in pairs)]

            return self.grad(lambda *args: pairing(*args)[0], point)

        return results, pull, rest

    def grad(self, loss: Any, point: Any) -> Any:
        """Returns the gradient, element by element."""
        jnp, loss = self.jnp, self.run(loss)
        slopes = []
        for place, x in enumerate(point):
            numbers = []
            for element in range(x.size):
                unit = jnp.zeros(x.size, x.dtype).at[element].set(1).reshape(x.shape)
                direction = [
                    unit if at == place else jnp.zeros_like(p) for at, p in enumerate(point)
                ]
                numbers.append(self._slope(lambda *args: [loss(*args)], point, direction)[0])
            slopes.append(jnp.array(numbers, x.dtype).reshape(x.shape))
        return tuple(slopes)


def nudge(jnp: Any, seed: int) -> Any:
    """Returns a function that perturbs values by about one rounding error."""

    def nudged(value: Any, name: str) -> Any:
        eps = float(jnp.finfo(value.dtype).eps)
        start = zlib.crc32(f"{name} {seed}".encode()) % 1000
        factors = 1 + 2 * eps * np.cos(start + np.arange(value.size)).reshape(value.shape)
        return value * jnp.asarray(factors, value.dtype)

    return nudged


def type_of(value: Any) -> str:
    """Returns dtype, shape and weak type of a result."""
    # Whether a boolean is weak has no effect on promotion.
    weak = getattr(value, "weak_type", False) and value.dtype != bool
    return f"{value.dtype}{list(value.shape)}" + (" weak" if weak else "")


def described(value: Any) -> Outcome:
    """Returns type and elements of a result."""
    array, kind = np.asarray(value), type_of(value)
    if array.dtype.kind == "c":
        pairs = np.ravel(array).astype(np.complex128).view(np.float64)
        return {"type": kind, "elements": pairs.tolist()}
    wide = np.int64 if array.dtype.kind in "biu" else np.float64
    return {"type": kind, "elements": array.astype(wide).ravel().tolist()}


class Library:
    """A library that runs programs in several execution modes.

    The argument ``way`` of the methods is the name of a mode, such as ``"jit"`` or ``"reference"``.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.root = importlib.import_module(name)
        for module in (
            "numpy",
            "lax",
            "export",
            "core",
            "ref",
            "nn",
            "ad_checkpoint",
            "ops",
            "scipy.special",
            "scipy.linalg",
            "scipy.fft",
            "scipy.signal",
            "flatten_util",
            "experimental.checkify",
            "experimental.sparse",
        ):
            importlib.import_module(f"{name}.{module}")
        self.defined: dict[str, dict[str, Any]] = {}
        self.traced: dict[Any, Any] = {}
        self.shared: set[Any] = set()

    def names(self, way: str, step: float = 1e-6, seed: int = 0) -> dict[str, Any]:
        """Returns the names that programs use."""
        root = self.root
        run = self._reference if way == "reference" else (lambda fun: fun)
        return {
            "jax": root,
            "jnp": root.numpy,
            "lax": root.lax,
            "np": np,
            "collections": collections,
            "dataclasses": dataclasses,
            "functools": functools,
            "nudged": nudge(root.numpy, seed),
            "numeric": Numeric(root.numpy, run, step),
        }

    def _reference(self, fun: Any) -> Any:
        """Returns a function that evaluates ``fun`` with NumPy.

        Each call traces ``fun`` for its arguments and evaluates the traced program, including the
        programs that it calls.
        """
        from olympus_ir.programs.tracing import EvaluationTrace, set_current_trace
        from olympus_ir.reference import reference_evaluator

        class ReferenceTrace(EvaluationTrace):
            process_primitive = staticmethod(reference_evaluator.evaluate)

        def evaluated(*arguments: Any) -> Any:
            traced = self._traced(fun, arguments)
            with set_current_trace(ReferenceTrace()), np.errstate(all="ignore"):
                return traced(*arguments)

        return evaluated

    def _traced(self, fun: Any, arguments: Any) -> Any:
        """Returns a function that evaluates the program of ``fun``, traced once if shared."""
        if fun in self.traced:
            return self.traced[fun]
        tree = self.root.tree
        program, shape = self.root.make_jaxpr(fun, return_shape=True)(*arguments)

        def evaluated(*arguments: Any) -> Any:
            leaves = tree.leaves(arguments)
            results = self.root.core.eval_jaxpr(program.jaxpr, program.consts, *leaves)
            return tree.unflatten(tree.structure(shape), results)

        if fun in self.shared:
            self.traced[fun] = evaluated
        return evaluated

    def run_all(self, requests: list[dict[str, Any]]) -> list[Outcome]:
        """Runs the requests of one program."""
        try:
            return [self.run(**request) for request in requests]
        finally:
            self.defined.clear()
            self.traced.clear()
            self.shared.clear()

    def _definitions(self, text: str, way: str, shared: bool, options: Any) -> dict[str, Any]:
        """Returns the names that a program defines."""
        if shared and text in self.defined:
            return self.defined[text]
        names = self.names(way, **options)
        exec(compile(text, "<program>", "exec"), names)
        if shared:
            self.defined[text] = names
            self.shared.add(names["run"])
        return names

    def run(self, text: str, way: str, wide: bool, shared: bool = False, **options: Any) -> Outcome:
        """Runs the text of a program; returns its results or its error.

        Args:
          text: the program.
          way: the execution mode.
          wide: whether 64-bit types are enabled.
          shared: whether the modes share one traced program, instead of a trace for each.
          **options: arguments of `names`.
        """
        try:
            with self.root.enable_x64(wide):
                names = self._definitions(text, way, shared, options)
                if way == "types":
                    results = self.root.eval_shape(names["run"], *names["arguments"])
                    return {
                        "status": "ok",
                        "results": [{"type": type_of(result)} for result in results],
                    }
                results = self._results(names["run"], names["arguments"], way, text)
                return {"status": "ok", "results": [described(result) for result in results]}
        except Exception as error:
            return description(error)

    def _results(self, run: Any, arguments: Any, way: str, text: str) -> Any:
        root = self.root
        if "numeric." in text:
            # The slopes are computed with NumPy; without this, XLA would compile the steps to them.
            return self._close(run, arguments)
        if way == "reference":
            return self._reference(run)(*arguments)
        run = self.traced.get(run, run)
        if way == "jit":
            return root.jit(run)(*arguments)
        if way == "close":
            return self._close(run, arguments)
        if way == "tiers":
            return root.jit(run, tiers=True)(*arguments)
        if way == "disable_jit":
            with root.disable_jit():
                return run(*arguments)
        if way == "cached":
            jitted = root.jit(run)
            jitted(*arguments)
            # This clears the function's own cache. The next call still finds other caches, such as
            # those of the functions that it calls.
            jitted.clear_cache()
            return jitted(*arguments)
        return run(*arguments)

    def _close(self, run: Any, arguments: Any) -> Any:
        """Returns the results of operations that NumPy evaluates where it is close to XLA."""
        config = self.root.config
        before = config.olympus_cold_evaluation
        config.update("olympus_cold_evaluation", "close")
        try:
            return run(*arguments)
        finally:
            config.update("olympus_cold_evaluation", before)


def description(error: BaseException) -> Outcome:
    """Returns the type and the message of an error."""
    kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"]
    return {
        "status": "error",
        "kinds": kinds[: kinds.index("Exception")] or ["Exception"],
        "type": type(error).__name__,
        "text": str(error)[:2000],
        "trace": "".join(traceback.format_exception(error))[-3000:],
    }


def resident_memory() -> int:
    """Returns the resident memory of this process in bytes."""
    pages = pathlib.Path("/proc/self/statm").read_text("ascii").split()[1]
    return int(pages) * resource.getpagesize()


def answer(library: str) -> None:
    """Runs the programs on the lines of standard input; prints a line for each answer."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    runner = Library(library)
    replies = sys.stdout
    sys.stdout = sys.stderr
    if library == "olympus":
        # A busy machine would otherwise compile programs for second calls that never come.
        tiers = importlib.import_module("olympus_xla.calls.on_reference.tiers")
        tiers._PATIENCE = 3600.0
    # Collections of a heap of modules and cached programs take a tenth of the time.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    print("{}", file=replies, flush=True)
    for line in sys.stdin:
        outcomes = [runner.run_all(requests) for requests in json.loads(line)]
        print(json.dumps(outcomes), file=replies, flush=True)
        if resident_memory() > FULL:
            runner.root.clear_caches()


if __name__ == "__main__":
    answer(sys.argv[1])
