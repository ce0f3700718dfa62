# SPDX-License-Identifier: Apache-2.0
"""The shape of the source: folders, functions, late imports, first words of docstrings."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))
FILES = sorted(ROOT.glob("packages/*/src/**/*.py"))
MODULES_IN_A_FOLDER = 20
LINES_OF_A_BODY = 60

# Folders with a file for each family, and those that mirror the public names of JAX or SciPy: their
# length is that of a list, and knowing one path is knowing all.
FOLDERS_OF_FAMILIES = {
    "olympus-autodiff/src/olympus_autodiff/rules": "derivative rules",
    "olympus-batching/src/olympus_batching/rules": "batching rules",
    "olympus-ir/src/olympus_ir/padding/rules": "padding rules",
    "olympus-ir/src/olympus_ir/reference": "reference rules",
    "olympus-scipy/src/olympus_scipy/stats": "one distribution a file, as in SciPy",
    "olympus-testing/src/olympus_testing/samples": "sample inputs",
    "olympus-xla/src/olympus_xla/compiling/lowering/rules": "lowering rules",
    "olympus/src/olympus": "the public names",
    "olympus/src/olympus/experimental": "the public names",
    "olympus/src/olympus/scipy/stats": "the public names",
}

# An opening that makes the reader wait for the noun.
RIDDLES = re.compile(r"(What|Where|Who|Whose|How|Which|Those|Whether|So) ")


def relative(path: Path) -> str:
    return path.relative_to(ROOT / "packages").as_posix()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path, module: str) -> Iterator[str]:
    """Yields the modules that a file imports, at once or late, and those whose names it takes."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(without_type_checking(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            for alias in node.names:
                name = f"{base}.{alias.name}"
                yield name if name in MODULES else base
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "deferred":
            yield from (resolve_name(name.value, package) for name in node.args)


def without_type_checking(path: Path) -> ast.Module:
    class Remover(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
            return node.orelse if "TYPE_CHECKING" in ast.unparse(node.test) else node

    return Remover().visit(ast.parse(path.read_text(encoding="utf-8")))


def module_name(path: Path) -> str:
    parts = path.relative_to(next(p for p in path.parents if p.name == "src")).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in FILES}


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_folders_have_few_modules() -> None:
    folders = {path.parent for path in FILES}
    crowded = {
        relative(folder): count
        for folder in folders
        if (count := sum(1 for path in folder.glob("*.py") if path.name[:2] != "__"))
        > MODULES_IN_A_FOLDER
    }
    assert {name: n for name, n in crowded.items() if name not in FOLDERS_OF_FAMILIES} == {}
    assert set(FOLDERS_OF_FAMILIES) - set(crowded) == set(), "stale exceptions"


def test_every_folder_has_a_docstring() -> None:
    silent = [
        relative(path)
        for path in FILES
        if path.name == "__init__.py" and not ast.get_docstring(tree(path))
    ]
    assert silent == []


def test_function_bodies_are_short() -> None:
    long = []
    for path in FILES:
        for node in functions(path):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if body and (count := node.end_lineno - body[0].lineno + 1) > LINES_OF_A_BODY:
                long.append(f"{relative(path)}:{node.lineno}: {node.name} has {count} lines")
    assert long == []


def test_imports_are_at_the_top() -> None:
    late = {
        f"{relative(path)}:{inner.lineno}"
        for path in FILES
        for node in functions(path)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    }
    assert sorted(late) == [], "declare them with olympus_ir.loading.deferred, with what they save"


def test_list_of_deferred_imports_is_complete() -> None:
    tool = [sys.executable, str(ROOT / "tools" / "deferred_imports.py"), "--check"]
    done = subprocess.run(tool, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_deferred_imports_hide_no_import_cycle(package: Path) -> None:
    modules = {module_name(path): path for path in FILES if package in path.parents}
    graph = {name: set(imported(path, name)) & modules.keys() for name, path in modules.items()}
    waiting = {name: targets - {name} for name, targets in graph.items()}
    while free := {name for name, targets in waiting.items() if not targets & waiting.keys()}:
        waiting = {name: targets for name, targets in waiting.items() if name not in free}
    # Modules that lead into a circle wait, too; those that nobody waits for are not in it.
    while idle := waiting.keys() - set().union(*waiting.values(), set()):
        waiting = {name: targets for name, targets in waiting.items() if name not in idle}
    assert sorted(waiting) == []


def test_warnings_point_to_the_users_line() -> None:
    # Attributes of modules are warned of by the import system's own rule for stack levels. JAX's
    # helpers for deprecations take the level as an argument.
    deprecations = ("olympus/_lazy.py", "counterparts/deprecations.py")
    exceptions = {"diagnostics/user_warnings.py", *deprecations}
    direct = [
        f"{relative(path)}:{node.lineno}"
        for path in FILES
        if not path.as_posix().endswith(tuple(exceptions))
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn"
    ]
    assert direct == [], "call olympus_ir.diagnostics.user_warnings.warn_user"


def test_docstrings_open_with_verb_or_noun() -> None:
    riddles = []
    for path in FILES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node) or ""
                if RIDDLES.match(text):
                    line = getattr(node, "lineno", 1)
                    riddles.append(f"{relative(path)}:{line}: {text.splitlines()[0]}")
    assert riddles == []


@pytest.mark.parametrize(
    "text, opens_well",
    [
        ("Returns the shape of an array.", True),
        ("What is returned.", False),
        ("Whether an array is empty.", False),
        ("Howard's rule.", True),
    ],
)
def test_docstring_openings_are_classified(text: str, opens_well: bool) -> None:
    assert (RIDDLES.match(text) is None) is opens_well
