# SPDX-License-Identifier: Apache-2.0
"""Checks that each package declares exactly the distributions that it imports.

An import is an ``import`` statement anywhere in the package's sources, or a call of
``importlib.import_module`` with a literal name. Imports of distributions that a package uses only
if they are installed are listed in OPTIONAL, with the reason.

Tests of a package import only packages of this repository that the package, or its group of test
dependencies, requires.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent

OPTIONAL = {
    ("olympus-ir", "tqdm"): "draws progress bars; installed by the extra olympus-ir[progress]",
    ("olympus-xla", "libtpu"): "the driver of TPUs; installed by the extra olympus[tpu]",
    ("olympus", "olympus-testing"): "the test kit; installed by the extra olympus[testing]",
    ("olympus", "absl"): "parameterized tests of suites written for JAX, if it is installed",
    ("olympus", "jax"): "the name under which `olympus.compat` makes OLYMPUS importable",
    (
        "olympus-export",
        "tensorflow",
    ): "jax2tf writes programs as graphs of TensorFlow if it is installed",
    ("olympus-xla", "mpi4py"): "tells each process of an MPI program its rank, if it is installed",
}


def imported_names(source: ast.Module) -> Iterator[str]:
    """Yields the top-level names that a module imports, except relative imports."""
    for node in ast.walk(source):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module"),
                args=[ast.Constant(value=str(module)), *_],
            ) if not module.startswith("."):
                yield module


def imported_distributions(package: Path) -> dict[str, Path]:
    """Returns the distributions that a package imports, each with a file that imports it."""
    own = package.name.replace("-", "_")
    found: dict[str, Path] = {}
    for path in sorted(package.glob("src/**/*.py")):
        for name in imported_names(ast.parse(path.read_text(encoding="utf-8"))):
            top = name.partition(".")[0]
            if top != own and top not in sys.stdlib_module_names:
                found.setdefault(canonicalize_name(top), path.relative_to(ROOT))
    return found


def declarations(package: Path) -> tuple[set[str], set[str]]:
    """Returns the distributions that a package requires, and those that its tests require."""
    table = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))
    lists = table["project"]["dependencies"], table["dependency-groups"]["test"]
    required, tested = (
        {str(canonicalize_name(Requirement(r).name)) for r in part} for part in lists
    )
    return required, tested


def siblings_in_tests(package: Path) -> set[str]:
    """Returns the packages of this repository that the tests of a package install."""
    waiting, found = [package.name, *declarations(package)[1]], set()
    while waiting:
        name = waiting.pop()
        if name not in found and (package.parent / name).is_dir():
            found.add(name)
            waiting += declarations(package.parent / name)[0]
    return found


def problems_of_tests(package: Path) -> Iterator[str]:
    """Yields a sentence for each sibling that tests import but do not require."""
    installed = siblings_in_tests(package)
    for path in sorted(package.glob("tests/**/*.py")):
        for name in imported_names(ast.parse(path.read_text(encoding="utf-8"))):
            top = canonicalize_name(name.partition(".")[0])
            if (package.parent / top).is_dir() and top not in installed:
                file = path.relative_to(ROOT)
                yield f"{package.name}: {file} imports {top}, which its tests do not require"


def problems(package: Path) -> Iterator[str]:
    """Yields a sentence for each difference between imports and declarations."""
    declared, _ = declarations(package)
    imported = imported_distributions(package)
    optional = {name for owner, name in OPTIONAL if owner == package.name}
    for name in sorted(imported.keys() - declared - optional):
        yield f"{package.name}: {imported[name]} imports {name}; declare it in pyproject.toml"
    for name in sorted(declared - imported.keys()):
        yield f"{package.name}: declares {name} but never imports it; remove the declaration"
    for name in sorted(optional & declared | optional - imported.keys()):
        yield f"{package.name}: {name} does not belong in OPTIONAL of {Path(__file__).name}"


def main() -> None:
    """Checks every package of the repository."""
    packages = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))
    found = [
        problem
        for package in packages
        for check in (problems, problems_of_tests)
        for problem in check(package)
    ]
    if found:
        sys.exit("\n".join(found))
    print(f"{len(packages)} packages declare what they import")


if __name__ == "__main__":
    main()
