# SPDX-License-Identifier: Apache-2.0
"""Checks that each package declares the distributions that it imports, neither more nor fewer.

An import is an ``import`` statement in the package's sources, wherever it stands, or a call of
``importlib.import_module`` with a literal name. Imports of distributions that a package uses only
if they are installed are listed in OPTIONAL, with the reason.
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
    ("olympus-ir", "tqdm"): "draws the bars of loops, brought by the extra olympus-ir[progress]",
    ("olympus-xla", "libtpu"): "the driver of TPUs, brought by the extra olympus[tpu]",
    ("olympus", "olympus-testing"): "the test kit, brought by the extra olympus[testing]",
    ("olympus", "jax"): "the name that the package itself answers to once it is installed as JAX",
    ("olympus-export", "tensorflow"): "writes programs as its graphs for those who have it",
    ("olympus-xla", "mpi4py"): "who starts programs with MPI may have it; it then says who is who",
}


def imported_names(source: ast.Module) -> Iterator[str]:
    """Yields the top-level names that a module imports, relative imports left out."""
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


def problems(package: Path) -> Iterator[str]:
    """Yields a sentence for each difference between imports and declarations."""
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {canonicalize_name(Requirement(r).name) for r in project["dependencies"]}
    imported = imported_distributions(package)
    optional = {name for owner, name in OPTIONAL if owner == package.name}
    for name in sorted(imported.keys() - declared - optional):
        yield f"{package.name}: {imported[name]} imports {name}; declare it in pyproject.toml"
    for name in sorted(declared - imported.keys()):
        yield f"{package.name}: declares {name} and never imports it; remove the declaration"
    for name in sorted(optional & declared | optional - imported.keys()):
        yield f"{package.name}: {name} does not belong in OPTIONAL of {Path(__file__).name}"


def main() -> None:
    """Checks every package of the repository."""
    packages = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))
    found = [problem for package in packages for problem in problems(package)]
    if found:
        sys.exit("\n".join(found))
    print(f"{len(packages)} packages declare what they import")


if __name__ == "__main__":
    main()
