# SPDX-License-Identifier: Apache-2.0
"""Evaluates the mistakes in the folder ``mistakes`` in OLYMPUS and in JAX, and compares errors.

Run it with an interpreter that has OLYMPUS; ``--jax`` is one that has jax 0.10.2::

    python tools/differential/mistakes.py --jax ../jax/bin/python

Each file is a section; ``--sections`` names some. A mistake is an expression or a program of some
lines; the lines below it, after ``=>``, are the corrected code. An error is worse than JAX's if its
type is not one of JAX's types, if its text is shorter than half of JAX's text, if its traceback
ends at another line of the program, if it shows frames of the library or internal errors, or if
there is no error. A line after ``~`` gives the reason for an intended difference.
Corrected code must run. ``--write`` writes the page docs/mistakes.md, which shows the errors and
the corrected code.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import importlib
import io
import json
import pathlib
import re
import subprocess
import sys
import textwrap
import traceback
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import fuzz_calls
import numpy as np
import run_calls

FOLDER = pathlib.Path(__file__).with_name("mistakes")
ROOT = pathlib.Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "mistakes.md"

#: The name of the file of a program in tracebacks.
PROGRAM = "<program>"
#: The devices of the programs: emulated ones of the CPU.
DEVICES = 8

TITLES = {
    "arrays": "Arrays",
    "compilation": "Compilation and callbacks",
    "derivatives": "Derivatives and their rules",
    "loops": "Loops and branches",
    "networks": "Networks, sparse arrays, exported functions",
    "operations": "Operations, networks, meshes",
    "parallel": "Meshes and shardings",
    "programs": "Programs",
    "randomness": "Random numbers",
    "science": "Linear algebra, transforms, statistics",
    "transformations": "Transformations",
    "trees": "Pytrees and vmap",
}


@dataclasses.dataclass(frozen=True)
class Mistake:
    """Mistake with its corrected code, and the reason for a difference from JAX, if any."""

    section: str
    code: str
    mended: str
    reason: str


def mistakes(sections: Iterable[str] = ()) -> Iterator[Mistake]:
    """Yields the mistakes of the named sections, or of all."""
    for path in sorted(FOLDER.glob("*.txt")):
        if sections and path.stem not in sections:
            continue
        for block in re.split(r"\n\s*\n", path.read_text("utf-8").strip()):
            block, _, reason = block.partition("\n~ ")
            code, _, mended = block.partition("\n=> ")
            yield Mistake(path.stem, code.strip(), mended.strip(), reason.strip())


def names(library: str) -> dict[str, Any]:
    """Returns the names that the snippets use."""
    found = dict(run_calls.calls.namespace(library))
    root = found["root"]
    for name in (
        *("jit", "grad", "vmap", "jvp", "vjp", "linearize", "linear_transpose", "jacfwd", "jacrev"),
        *("hessian", "checkpoint", "eval_shape", "custom_jvp", "custom_vjp", "pure_callback"),
        *("ShapeDtypeStruct", "debug", "device_put", "device_get", "tree", "P"),
    ):
        found[name] = getattr(root, name)
    for name in ("export", "ad_checkpoint", "flatten_util", "experimental.sparse", "dlpack", "ffi"):
        importlib.import_module(f"{library}.{name}")
    found["mesh"] = root.sharding.Mesh(root.devices()[:1], ("x",))
    found["np"] = np
    found["partial"] = functools.partial
    found["export"] = root.export
    found["checkify"] = importlib.import_module(f"{library}.experimental.checkify")
    found["pl"] = importlib.import_module(f"{library}.experimental.pallas")
    found["AxisType"] = root.sharding.AxisType
    found["NamedSharding"] = root.sharding.NamedSharding
    found.update(Model=Model, Record=Record, Other=Other, Constant=Constant)
    found["with_jvp"] = functools.partial(_with_jvp, root)
    found["with_vjp"] = functools.partial(_with_vjp, root)
    return found


class Model:
    """A class that is not registered as a pytree."""

    def __init__(self, w: Any) -> None:
        self.w = w


@dataclasses.dataclass
class Record:
    """A dataclass that is not registered as a pytree."""

    w: Any
    name: str


class Other(Record):
    """A class to register as a pytree."""


class Constant:
    """A class to register as static."""


def _with_jvp(root: Any, rule: Any) -> Any:
    """Returns the identity with a derivative rule."""
    identity = root.custom_jvp(lambda x: x)
    identity.defjvp(rule)
    return identity


def _with_vjp(root: Any, fwd: Any, bwd: Any) -> Any:
    """Returns the identity with a rule of reverse mode."""
    identity = root.custom_vjp(lambda x: x)
    identity.defvjp(fwd, bwd)
    return identity


def run(library: str, sections: Iterable[str]) -> list[dict[str, Any]]:
    """Returns the outcomes of mistakes, and of the corrected code."""
    importlib.import_module(library).config.update(f"{library}_num_cpu_devices", DEVICES)
    found = names(library)
    outcomes = []
    for mistake in mistakes(sections):
        outcome = evaluated(mistake.code, found)
        if mistake.mended and library == "olympus":
            mended = evaluated(mistake.mended, found)
            outcome["mended"] = mended.get("text", "") if mended["status"] == "error" else ""
        outcomes.append(outcome)
    return outcomes


def evaluated(code: str, found: dict[str, Any]) -> dict[str, Any]:
    """Evaluates an expression or a program; returns its error as users see it."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            exec(compile(code, PROGRAM, "exec"), dict(found))
        except Exception as error:
            outcome = run_calls.description(error)
            outcome["frames"] = [frame for frame in outcome["frames"] if __file__ not in frame]
            outcome["line"] = last_line(error)
            return outcome
    return {"status": "ok"}


def last_line(error: BaseException) -> int | None:
    """Returns the last line of the program in the traceback of an error."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == PROGRAM]
    return lines[-1] if lines else None


def judged(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Returns descriptions of the faults of OLYMPUS's outcome, compared with JAX's outcome."""
    if ours.get("mended"):
        return [f"the corrected code fails: {ours['mended'][:200]}"]
    if ours["status"] == "ok":
        return ["no error"] if theirs["status"] == "error" else []
    faults = []
    if ours["frames"]:
        faults.append(f"shows {ours['frames'][-1]}")
    if ours["chained"]:
        faults.append(f"chained to {ours['chained'][:80]}")
    if theirs["status"] == "error":
        if not fuzz_calls.agree(ours, theirs):
            faults.append(f"{ours['type']} where JAX has {theirs['type']}")
        if len(ours["text"]) < len(theirs["text"]) / 2:
            faults.append("shorter than half of JAX's text")
        if ours["line"] != theirs["line"]:
            faults.append(f"line {ours['line']} where JAX has {theirs['line']}")
    return faults


def page(outcomes: list[dict[str, Any]]) -> str:
    """Returns the page of mistakes."""
    lines = [
        "# Mistakes\n",
        "Common mistakes, the messages of OLYMPUS, and mended code. `nox -s mistakes -- --write`",
        "makes this page, and runs each line. [Errors](errors.md) explains the classes.\n",
        "The names are those of `import olympus as root`, `import olympus.numpy as jnp`,",
        "`import olympus.scipy as jsp` and of `olympus` itself.\n",
    ]
    section = None
    for mistake, outcome in zip(mistakes(), outcomes, strict=True):
        if mistake.section != section:
            section = mistake.section
            lines.append(f"## {TITLES[section]}\n")
        if outcome["status"] == "ok":
            continue
        text = re.sub(r" at 0x[0-9a-f]+", "", f"{outcome['type']}: {outcome['text']}")
        text = text.replace(f"{ROOT}/", "")
        said = [
            textwrap.fill(line, 98, break_on_hyphens=False, break_long_words=False)
            for line in text.splitlines()[:8]
            if line.strip()
        ]
        lines.append(f"```python3\n{mistake.code}")
        lines.append(textwrap.indent("\n".join(said), "# "))
        lines.append(f"# Write:\n{mistake.mended}\n```\n" if mistake.mended else "```\n")
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    """Evaluates the mistakes in both libraries and lists errors that are worse than JAX's."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--jax", help="an interpreter that has jax")
    parser.add_argument("--write", action="store_true", help="write docs/mistakes.md")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--sections", nargs="*", default=(), help="the sections; all by default")
    parser.add_argument("--show", action="store_true", help="print both texts")
    options = parser.parse_args()
    if options.run:
        print(json.dumps(run(options.run, options.sections)))
        return 0
    ours = run("olympus", options.sections)
    if options.write and not options.sections:
        PAGE.write_text(page(ours), "utf-8")
    if not options.jax:
        return 0
    command = [options.jax, __file__, "--run", "jax", "--sections", *options.sections]
    theirs = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    worse = 0
    for mistake, own, other in zip(mistakes(options.sections), ours, theirs, strict=True):
        faults = [] if mistake.reason else judged(own, other)
        worse += bool(faults)
        if faults or options.show:
            print(f"{mistake.code}\n    {'; '.join(faults)}")
            print(f"    OLYMPUS {own.get('type')}: {own.get('text', '')[:400]}")
            print(f"    JAX     {other.get('type')}: {other.get('text', '')[:400]}")
    print(f"{len(ours)} mistakes, {worse} worse than in JAX")
    return int(worse > 0)


if __name__ == "__main__":
    sys.exit(main())
