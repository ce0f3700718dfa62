# SPDX-License-Identifier: Apache-2.0
"""Tests each package at both ends of the ranges that it declares for its siblings.

There are two rounds, so that each package is tested as the newer and as the older of a pair:

- ``lowest``: the current package, with the lowest versions of its siblings that it accepts;
- ``newest``: the last release of the package, with the newest siblings that it accepts.

Releases are tags such as ``olympus-random-v0.1.0``. A package without a release is represented by
its state at the revision ``--since``. Wheels of the working tree have the version suffix ``+tree``,
so they are newer than a release of the same version. Tests, and packages that only tests need, are
taken from the package's own state. Arguments after ``--`` are passed to pytest.

Usage: python tools/pairs.py FOLDER --since HEAD~20 olympus-random -- -k uniform
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.version import Version
from release import ROOT, git, version_in

PACKAGES = sorted(path.parent.name for path in ROOT.glob("packages/*/pyproject.toml"))
ROUNDS = ("lowest", "newest")


class State(NamedTuple):
    """A package at one revision."""

    package: str
    version: Version
    source: Path
    dependencies: tuple[str, ...]
    test_group: tuple[str, ...]

    def siblings(self) -> list[Requirement]:
        """Returns the requirements that refer to packages of this repository."""
        declared = map(Requirement, self.dependencies)
        return [each for each in declared if each.name in PACKAGES]


def state_of(package: str, source: Path) -> State:
    """Returns the state of a package whose source is in a folder."""
    table = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))
    about = next(source.glob("src/*/__about__.py"))
    return State(
        package,
        Version(version_in(about)),
        source,
        tuple(table["project"]["dependencies"]),
        tuple(table["dependency-groups"]["test"]),
    )


def checked_out(package: str, revision: str, folder: Path) -> State | None:
    """Writes a package at a revision into a folder; None if the revision lacks the package."""
    archive = ("git", "-C", str(ROOT), "archive", revision, f"packages/{package}")
    done = subprocess.run(archive, capture_output=True, check=False)
    if done.returncode:
        return None
    with tarfile.open(fileobj=BytesIO(done.stdout)) as files:
        files.extractall(folder, filter="data")
    return state_of(package, folder / "packages" / package)


def labelled_tree(package: str, folder: Path) -> State:
    """Copies a package of the working tree into a folder, and appends ``+tree`` to its version."""
    source = folder / "packages" / package
    shutil.copytree(ROOT / "packages" / package, source)
    about = next(source.glob("src/*/__about__.py"))
    version = version_in(about)
    about.write_text(about.read_text("utf-8").replace(f'"{version}"', f'"{version}+tree"'), "utf-8")
    return state_of(package, source)


def earlier_states(package: str, since: str, folder: Path) -> list[State]:
    """Returns the releases of a package; if there are none, its state at a revision."""
    tags = git(ROOT, "tag", "--list", f"{package}-v*").split()
    revisions = tags or [since]
    found = [
        checked_out(package, revision, folder / revision.replace("/", "-"))
        for revision in revisions
    ]
    return [state for state in found if state is not None]


def chosen(
    first: State, states: Mapping[str, Iterable[State]], newest: bool
) -> dict[str, State] | None:
    """Returns the siblings of a state, each in the lowest or newest version that all others accept.

    Args:
      first: the state whose siblings are returned.
      states: the states of each package.
      newest: whether to choose the newest accepted versions rather than the lowest.

    Returns:
      A dictionary by name, without ``first``; None if no combination is accepted.
    """

    def extended(found: dict[str, State], needed: list[Requirement]) -> dict[str, State] | None:
        if not all(admits(each, found[each.name]) for each in needed if each.name in found):
            return None
        missing = next((each.name for each in needed if each.name not in found), None)
        if missing is None:
            return found
        for state in sorted(states[missing], key=lambda state: state.version, reverse=newest):
            result = extended({**found, missing: state}, [*needed, *state.siblings()])
            if result is not None:
                return result
        return None

    return extended({}, first.siblings())


def admits(requirement: Requirement, state: State) -> bool:
    """Returns whether the version of a package is in a range."""
    return requirement.specifier.contains(state.version, prereleases=True)


def wheel_of(state: State, folder: Path) -> str:
    """Builds the wheel of a state into a folder, once, and returns its path."""
    pattern = f"{state.package.replace('-', '_')}-{state.version}-*.whl"
    if not list(folder.glob(pattern)):
        command = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
        subprocess.run(command, check=True, cwd=state.source, capture_output=True)
    (path,) = folder.glob(pattern)
    return str(path)


def passes(state: State, beside: Mapping[str, State], folder: Path, options: Sequence[str]) -> bool:
    """Installs a package and its siblings in a new environment, and runs the package's tests."""
    wheels = [wheel_of(each, folder / "wheels") for each in (state, *beside.values())]
    needed = [name for name in state.test_group if Requirement(name).name not in PACKAGES]
    environment = folder / "environment"
    shutil.rmtree(environment, ignore_errors=True)
    subprocess.run(("uv", "venv", "--quiet", str(environment)), check=True)
    python = str(next(path for path in environment.glob("*/python*") if path.stem == "python"))
    install = ("uv", "pip", "install", "--quiet", "--python", python)
    subprocess.run((*install, *wheels, *needed), check=True)
    settings = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), "-q")
    command = (python, "-m", "pytest", *settings, "-p", "no:cacheprovider", "-n", "auto", *options)
    return not subprocess.run((*command, str(state.source / "tests")), cwd=folder).returncode


def with_test_group(state: State, beside: dict[str, State], own: Mapping[str, State]) -> None:
    """Adds the packages that only the tests need, in the state of these tests."""
    todo = [Requirement(each).name for each in state.test_group]
    while todo:
        name = todo.pop()
        if name in own and name != state.package and name not in beside:
            beside[name] = own[name]
            todo += [sibling.name for sibling in own[name].siblings()]


def main() -> None:
    """Tests the given packages, or all, in both rounds, and reports which fail."""
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a folder for sources, wheels and environments")
    parser.add_argument("packages", nargs="*", help="the packages to test; all if none is given")
    parser.add_argument(
        "--since", default="HEAD~1", help="the revision of packages without releases"
    )
    parser.add_argument("--round", choices=ROUNDS, help="one of the two rounds")
    given = parser.parse_intermixed_args(sys.argv[1:split])
    folder = given.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "wheels").mkdir(parents=True)
    tree = {name: labelled_tree(name, folder / "tree") for name in PACKAGES}
    earlier = {name: earlier_states(name, given.since, folder) for name in PACKAGES}
    states = {name: [*earlier[name], tree[name]] for name in PACKAGES}
    last = {
        name: max(each, key=lambda state: state.version) for name, each in earlier.items() if each
    }
    failures = []
    for package in given.packages or PACKAGES:
        for name in [given.round] if given.round else ROUNDS:
            own = tree if name == "lowest" else last
            if package not in own:
                continue
            beside = chosen(own[package], states, newest=name == "newest")
            title = f"{package} {own[package].version}, {name} siblings"
            if beside is None:
                failures.append(f"{title}: no combination of versions is accepted")
                continue
            with_test_group(own[package], beside, own)
            shown = [f"{each.package} {each.version}" for each in beside.values()]
            print(f"{title}: {', '.join(shown)}", flush=True)
            if not passes(own[package], beside, folder, sys.argv[split + 1 :]):
                failures.append(title)
    if failures:
        sys.exit("\n".join(["these fail:", *failures]))


if __name__ == "__main__":
    main()
