# SPDX-License-Identifier: Apache-2.0
"""Runs the test suites of libraries written for JAX on OLYMPUS, and failing tests on JAX, too.

``python tools/library_suites.py --peer PYTHON --folder FOLDER [library ...]``, where ``PYTHON`` is
the interpreter of an environment with JAX and the same libraries. The suites are those of the
source distributions that ``integration_tests/ecosystem/suites.toml`` lists; they are downloaded
with pip. A test that fails on OLYMPUS and passes on JAX is a difference. The command fails if a
difference is not listed among the library's ``private`` tests, or if a listed test passes.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
SUITES = ROOT / "integration_tests" / "ecosystem" / "suites.toml"
RECORDER = ROOT / "tools" / "outcome_recorder.py"

FAILING = ("failed", "error", "crashed")


@dataclasses.dataclass(frozen=True)
class Suite:
    """The tests of one library.

    Args:
      distribution: name and version of the source distribution, in the form that pip accepts. With
        `module`, the wheel of a library that includes its tests.
      tests: files and folders of tests, below the unpacked distribution or the module's folder.
      module: the installed module whose folder contains the tests; None for the tests of the
        distribution.
      arguments: arguments for pytest.
      environment: environment variables.
      private: the tests of private parts of JAX, which fail on OLYMPUS alone; a mapping from their
        identifiers to the reasons.
    """

    distribution: str
    tests: Sequence[str]
    module: str | None = None
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    private: Mapping[str, str] = dataclasses.field(default_factory=dict)


def read_suites() -> dict[str, Suite]:
    """Returns the suites by the name of the library."""
    with SUITES.open("rb") as file:
        return {name: Suite(**fields) for name, fields in tomllib.load(file).items()}


def unpacked(suite: Suite, folder: Path) -> Path:
    """Downloads and unpacks a source distribution, unless the folder already has it.

    Args:
      suite: the suite.
      folder: the folder for distributions.

    Returns:
      The folder of the unpacked distribution.
    """
    target = folder / suite.distribution
    target.mkdir(parents=True, exist_ok=True)
    if not any(entry.is_dir() for entry in target.iterdir()):
        # The library alone comes as source. Its build tools need not be built, too.
        name = suite.distribution.partition("==")[0]
        command = ["pip", "download", "-q", "--no-deps", "--no-binary", name, "-d", str(target)]
        subprocess.run([sys.executable, "-m", *command, suite.distribution], check=True)
        (archive,) = target.glob("*.tar.gz")
        with tarfile.open(archive) as file:
            file.extractall(target, filter="data")
    (unpacked_folder,) = (entry for entry in target.iterdir() if entry.is_dir())
    return unpacked_folder


def run_tests(
    suite: Suite,
    command: Sequence[str],
    tests: Sequence[str],
    folder: Path,
    log: Path,
    shard: str = "1/1",
) -> dict[str, str]:
    """Runs tests in a separate process; after a crash another process runs the remaining tests.

    Args:
      suite: the suite.
      command: the command that runs a module of Python.
      tests: identifiers of tests, or files and folders.
      folder: the folder to run in.
      log: the file for the output; ``.jsonl`` is appended for the file of outcomes.
      shard: the part of the tests to run: ``"2/5"`` for every fifth test, beginning with the
        second.

    Returns:
      The outcome of each test by its identifier.
    """
    record = log.with_name(log.name + ".jsonl")
    record.unlink(missing_ok=True)
    ids = log.with_name(log.name + ".args")
    ids.write_text("\n".join(tests))
    environment = {
        **os.environ,
        **suite.environment,
        "OUTCOMES": str(record),
        "SHARD": shard,
        "PYTHONPATH": str(RECORDER.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "JAX_PLATFORMS": "cpu",
    }
    arguments = ["-p", "no:cacheprovider", "-p", RECORDER.stem, "-q", "--timeout", "300"]
    arguments += ["--continue-on-collection-errors", "--disable-warnings"]
    whole = [*command, "pytest", *arguments, *suite.arguments, f"@{ids}"]
    outcomes: dict[str, str] = {}
    with log.open("w") as output:
        while True:
            done = subprocess.run(
                whole, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT
            )
            outcomes, before = recorded(record), outcomes
            crashed = [test for test, outcome in outcomes.items() if outcome == "crashed"]
            if done.returncode in range(6) or len(outcomes) == len(before):
                return outcomes
            print(f"  a process ended with {done.returncode} in {crashed[-1:]}", flush=True)


def recorded(record: Path) -> dict[str, str]:
    """Returns the outcomes in a file of `outcome_recorder`; "crashed" if there is none."""
    outcomes: dict[str, str] = {}
    if record.exists():
        for line in record.read_text().splitlines():
            entry = json.loads(line)
            if entry["outcome"] == "started":
                outcomes.setdefault(entry["test"], "crashed")
            elif outcomes.get(entry["test"]) not in ("failed", "error"):
                outcomes[entry["test"]] = entry["outcome"]
    return outcomes


def fails(outcomes: Mapping[str, str], test: str) -> bool:
    """Returns whether a test failed, or the file of the test could not be imported."""
    file = test.partition("::")[0]
    return outcomes.get(test) in FAILING or outcomes.get(file) in FAILING


def compare(name: str, suite: Suite, peer: str, folder: Path, shard: str) -> bool:
    """Runs one library's suite and prints the differences; returns whether all are listed.

    Args:
      name: the name of the library.
      suite: its suite.
      peer: the interpreter with JAX.
      folder: the folder for sources and logs.
      shard: the part of the tests to run, as in `run_tests`.
    """
    if suite.module is None:
        source = unpacked(suite, folder / "sources")
    else:
        find = f"import {suite.module} as m; print(m.__path__[0])"
        found = subprocess.run([sys.executable, "-c", find], capture_output=True, text=True)
        source = Path(found.stdout.strip())
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    own = [sys.executable, "-m", "olympus.compat", "-m"]
    outcomes = run_tests(suite, own, suite.tests, source, logs / f"{name}-olympus.txt", shard)
    failing = [test for test, outcome in outcomes.items() if outcome in FAILING]
    differing: list[str] = []
    if failing:
        on_jax = run_tests(suite, [peer, "-m"], failing, source, logs / f"{name}-jax.txt")
        differing = [test for test in failing if not fails(on_jax, test)]
    if differing:  # some tests depend on random numbers or on earlier tests
        again = run_tests(suite, own, differing, source, logs / f"{name}-again.txt")
        differing = [test for test in differing if again.get(test, "error") in FAILING]
    counts = {kind: list(outcomes.values()).count(kind) for kind in ("passed", "skipped")}
    both = len(failing) - len(differing)
    print(f"{name}: {counts}, fail on both: {both}, on OLYMPUS alone: {len(differing)}", flush=True)
    unlisted = [test for test in differing if test not in suite.private]
    gone = [test for test in suite.private if outcomes.get(test) == "passed"]
    for test in unlisted:
        print(f"  differs: {test}")
    for test in gone:
        print(f"  listed as private, but passes: {test}")
    return "passed" in outcomes.values() and not unlisted and not gone


def main(arguments: Sequence[str]) -> int:
    """Runs the suites and returns the exit status."""
    parser = argparse.ArgumentParser(
        description="Runs test suites of libraries on OLYMPUS, and failing tests on JAX."
    )
    parser.add_argument("--peer", required=True, help="the interpreter of an environment with JAX")
    parser.add_argument("--folder", type=Path, required=True, help="sources and logs")
    parser.add_argument(
        "--seconds", type=int, help="stop each run of a suite after this time, in seconds"
    )
    parser.add_argument(
        "--shard", default="1/1", help="K/N: every N-th test, beginning with the K-th"
    )
    parser.add_argument("libraries", nargs="*", help="names in suites.toml; all by default")
    options = parser.parse_args(arguments)
    suites = read_suites()
    if options.seconds is not None:
        limit = ("--session-timeout", str(options.seconds))
        suites = {
            name: dataclasses.replace(suite, arguments=(*suite.arguments, *limit))
            for name, suite in suites.items()
        }
    chosen = options.libraries or list(suites)
    peer, folder = os.path.abspath(options.peer), options.folder.resolve()
    same = [compare(name, suites[name], peer, folder, options.shard) for name in chosen]
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
