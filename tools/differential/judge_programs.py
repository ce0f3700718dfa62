# SPDX-License-Identifier: Apache-2.0
"""Runs programs in both libraries and compares the outcomes."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import math
import os
import pathlib
import queue
import re
import sys
import tempfile
import threading
from typing import Any

import numpy as np
from processes import CHEAP_COMPILATION, Worker

from olympus_testing.compositions import Program, source

#: Maximal processor time of one program in all execution modes together, in seconds.
PATIENCE = 20
DEVICES = 4
#: Maximal number of programs that are sent to a process together.
GROUP = 8
#: Steps of finite differences.
NEAR, FAR = 1e-5, 1e-4
RUNNER = str(pathlib.Path(__file__).with_name("run_programs.py"))

Outcome = dict[str, Any]


def base_way(text: str) -> str:
    """Returns the execution mode with which the others are compared.

    It is the NumPy reference, unless the program runs on several devices, which NumPy lacks, or
    calls an exported function, which is StableHLO.
    """
    compiled = ("jax.shard_map(", "jax.export.export(")
    return "jit" if any(call in text for call in compiled) else "reference"


def tolerance(text: str, wide: bool) -> float:
    """Returns the largest relative error that counts as equal."""
    if "bfloat16" in text or "reduce_precision" in text:
        return 4e-2
    if "float16" in text:
        return 5e-3
    return 1e-9 if wide else 2e-4


def errors(ours: Outcome, theirs: Outcome) -> list[float]:
    """Returns the greatest relative difference of each result; infinite if only one is NaN."""
    found = []
    for left, right in zip(ours["results"], theirs["results"], strict=True):
        if "elements" not in right:
            found.append(0.0)
            continue
        a, b = (np.array(operand["elements"], np.float64) for operand in (left, right))
        if a.shape != b.shape:
            found.append(math.inf)
            continue
        with np.errstate(all="ignore"):
            finite = np.isfinite(a) & np.isfinite(b)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            if not np.all(same | finite):
                found.append(math.inf)
                continue
            scale = 1 + np.max(np.abs(b[finite]), initial=0)
            found.append(float(np.max(np.abs(a - b)[finite], initial=0) / scale))
    return found


def is_defined(outcome: Outcome) -> bool:
    """Returns whether no result is NaN, as finite differences are where a function is infinite."""
    results = [np.array(result.get("elements", ()), np.float64) for result in outcome["results"]]
    return not any(np.isnan(result).any() for result in results)


# Errors that report that a program cannot be run. If both libraries raise such an error, the types
# need not agree.
REFUSALS = {"TypeError", "ValueError", "NotImplementedError", "ArithmeticError"}


def fault(ours: Outcome, theirs: Outcome, limit: float, types: bool = True) -> str:
    """Returns a description of the difference of two outcomes; empty if they agree."""
    if ours["status"] in ("crash", "hang"):
        return ours["status"]
    if theirs["status"] in ("crash", "hang"):
        return ""
    if ours["status"] != theirs["status"]:
        bad = ours if ours["status"] == "error" else theirs
        words = re.sub(r"[\s\d]+", " ", bad["text"])[:90]
        return f"{'raises' if bad is ours else 'does not raise'} {bad['type']}: {words}"
    if ours["status"] == "error":
        refused = REFUSALS.intersection(ours["kinds"]) or theirs["kinds"][0] in ours["kinds"]
        return "" if refused else f"raises {ours['type']}, not {theirs['type']}"
    if len(ours["results"]) != len(theirs["results"]):
        return "number of results"
    pairs = [
        (left["type"], right["type"])
        for left, right in zip(ours["results"], theirs["results"], strict=True)
    ]
    if types and any(left != right for left, right in pairs):
        left, right = next(pair for pair in pairs if pair[0] != pair[1])
        return "type " + re.sub(r"\d+(?=[,\]])", "n", f"{left}, not {right}")
    if any(error > limit for error in errors(ours, theirs)):
        return "values"
    return ""


@dataclasses.dataclass(frozen=True)
class Finding:
    """A wrong outcome of a program.

    Attributes:
      way: the execution mode in which OLYMPUS ran the program.
      against: the outcome to compare with: "jax", "reference", "loop" or "numeric".
      fault: the kind of difference.
    """

    way: str
    against: str
    fault: str
    ours: Outcome = dataclasses.field(compare=False, default_factory=dict)
    theirs: Outcome = dataclasses.field(compare=False, default_factory=dict)

    @property
    def heading(self) -> str:
        """Returns the heading under which the report lists the finding."""
        return f"{self.way} against {self.against}: {self.fault}"


class Groups:
    """Requests of programs that wait for one process, sent in groups.

    A process that answers several programs at once waits less often for this one.

    Args:
      worker: the process that answers.
    """

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.waiting: queue.SimpleQueue[tuple[Any, concurrent.futures.Future[list[Outcome]]]]
        self.waiting = queue.SimpleQueue()
        threading.Thread(target=self._answer, daemon=True).start()

    def submit(self, requests: list[Any]) -> concurrent.futures.Future[list[Outcome]]:
        """Returns the future outcomes of the requests of one program."""
        future: concurrent.futures.Future[list[Outcome]] = concurrent.futures.Future()
        self.waiting.put((requests, future))
        return future

    def _answer(self) -> None:
        while True:
            group = [self.waiting.get()]
            while len(group) < GROUP and not self.waiting.empty():
                group.append(self.waiting.get())
            try:
                replies = self._replies([requests for requests, _ in group])
            except BaseException as error:
                for _, future in group:
                    future.set_exception(error)
                continue
            for (_, future), reply in zip(group, replies, strict=True):
                future.set_result(reply)

    def _replies(self, group: list[Any]) -> list[list[Outcome]]:
        """Returns the outcomes of each program; a process that ends with one runs the others."""
        reply = self.worker.ask(group)
        if isinstance(reply, list):
            return reply
        if len(group) > 1:
            return [self._replies([requests])[0] for requests in group]
        return [[reply] * len(group[0])]


class Referee:
    """Runs programs in both libraries and compares the outcomes."""

    def __init__(self, jax: str | None) -> None:
        self.cache = tempfile.TemporaryDirectory(prefix="olympus-fuzz-")
        devices = f"--xla_force_host_platform_device_count={DEVICES}"
        flags = f"{devices} {CHEAP_COMPILATION}"
        settings = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
        settings["OLYMPUS_COMPILATION_CACHE_DIR"] = self.cache.name
        settings["OLYMPUS_SHOW_COMPILATION"] = "0"
        self.ours = Worker([sys.executable, RUNNER, "olympus"], PATIENCE, settings)
        self.theirs = None if jax is None else Worker([jax, RUNNER, "jax"], PATIENCE, settings)
        self.our_groups = Groups(self.ours)
        self.their_groups = None if self.theirs is None else Groups(self.theirs)

    def close(self) -> None:
        """Ends the processes."""
        self.ours.close()
        if self.theirs:
            self.theirs.close()
        self.cache.cleanup()

    def started(
        self, program: Program, way: str, peer: str = "values", *, shared: bool = False
    ) -> tuple[Any, Any, Any]:
        """Sends a program to both libraries.

        Args:
          program: the program.
          way: the execution mode in which OLYMPUS runs it, in addition to the reference.
          peer: "values" if the other library computes the results, "types" if it traces the
            program, and empty if it does nothing.
          shared: whether the execution modes of OLYMPUS share one traced program.
        """
        # The last transformation of some programs accepts only concrete arrays of one library.
        outermost = bool(program.stack) and program.stack[-1].name in ("sharded", "export")
        inner = dataclasses.replace(program, stack=program.stack[:-1]) if outermost else program
        text = source(inner)
        base = base_way(text)
        requests = {
            "reference": self._request(text, base, program, shared=shared),
            way: self._request(
                source(program), "eager" if outermost else way, program, shared=shared
            ),
        }
        if any(step.loop for step in inner.stack):
            requests["loop"] = self._request(source(inner, "loop"), base, program)
        derivatives = sum(bool(step.numeric) for step in inner.stack)
        if program.wide and program.smooth and derivatives == 1 and inner.stack[0].numeric:
            slopes = source(inner, "numeric")
            for step in NEAR, FAR:
                requests[f"numeric {step}"] = self._request(slopes, "reference", program, step=step)
        ours = self.our_groups.submit(list(requests.values()))
        theirs = None
        if self.their_groups and peer:
            way_there = "jit" if peer == "values" else "types"
            request = self._request(text, way_there, program)
            theirs = self.their_groups.submit([request])
        names = list(requests)
        return names, ours, theirs

    def _request(self, text: str, way: str, program: Program, **options: Any) -> dict[str, Any]:
        return {"text": text, "way": way, "wide": program.wide, **options}

    def judged(self, program: Program, names: Any, ours: Any, theirs: Any) -> list[Finding]:
        """Returns the findings of a program."""
        outcomes = dict(zip(names, ours.result(), strict=True))
        way = names[1]
        pairs = [(way, "reference", outcomes[way], outcomes["reference"])]
        if theirs is not None:
            peer = theirs.result()[0]
            pairs.append(("reference", "jax", outcomes["reference"], peer))
        if "loop" in outcomes:
            pairs.append(("reference", "loop", outcomes["reference"], outcomes["loop"]))
        limit = tolerance(source(program), program.wide)
        found = []
        for left, right, first, second in pairs:
            wrong = fault(first, second, limit, types=right != "loop")
            if right == "loop" and second["status"] == "error" and first["status"] == "error":
                wrong = ""
            if wrong == "values" and self._explained(program, first, second, limit):
                continue
            if wrong:
                found.append(Finding(left, right, wrong, first, second))
        near, far = (outcomes.get(f"numeric {step}") for step in (NEAR, FAR))
        if near and far and near["status"] == far["status"] == "ok":
            exact = outcomes["reference"]
            known = is_defined(near) and not fault(near, far, 1e-5, types=False)
            if exact["status"] == "ok" and known:
                wrong = fault(exact, near, 1e-4, types=False)
                if wrong and not self._explained(program, exact, near, 1e-4):
                    found.append(Finding("reference", "numeric", wrong, exact, near))
        return found

    def _explained(self, program: Program, ours: Outcome, theirs: Outcome, limit: float) -> bool:
        """Returns whether rounding errors in each statement explain the difference."""
        if program.stack and program.stack[-1].name in ("sharded", "export"):
            program = dataclasses.replace(program, stack=program.stack[:-1])
        text = source(program, "nudged")
        base = base_way(text)
        requests = [self._request(text, base, program, seed=seed) for seed in range(4)]
        requests.append(self._request(source(program), base, program))
        *nudged, plain = self.our_groups.submit(requests).result()
        if plain["status"] != "ok":
            return False
        spread = np.zeros(len(plain["results"]))
        for outcome in nudged:
            if outcome["status"] != "ok":
                # The changed program fails, for example because an operation rejects a dtype. Then
                # the size of rounding errors is unknown, so any difference counts as explained.
                return True
            spread = np.maximum(spread, errors(outcome, plain))
        return all(
            error <= limit + 30 * each
            for error, each in zip(errors(ours, theirs), spread, strict=True)
        )

    def findings(self, program: Program, way: str) -> list[Finding]:
        """Runs a program and returns its findings.

        Args:
          program: the program.
          way: the mode of the finding to reproduce. All programs also run on the reference. So if
            the mode is "reference", the program runs in the mode "eager" besides.
        """
        way = "eager" if way == "reference" else way
        return self.judged(program, *self.started(program, way))
