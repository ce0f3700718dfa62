# SPDX-License-Identifier: Apache-2.0
"""Conventions that every package of the repository keeps."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import hypothesis
import pytest
from packaging.requirements import Requirement

from olympus_ir.diagnostics import errors

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))
SOURCE_PATTERNS = (
    "*.py",
    "benchmarks/**/*.py",
    "examples/**/*.py",
    "integration_tests/**/*.py",
    "packages/*/src/**/*.py",
    "packages/*/tests/**/*.py",
    "tools/**/*.py",
)
SOURCES = sorted(path for pattern in SOURCE_PATTERNS for path in ROOT.glob(pattern))
DOCUMENT_PATTERNS = ("*.md", "docs/**/*.md", "packages/*/*.md", "benchmarks/**/*.md")
DOCUMENTS = sorted(path for pattern in DOCUMENT_PATTERNS for path in ROOT.glob(pattern))

SPDX_HEADER = "# SPDX-License-Identifier: Apache-2.0"
# Scripts that are run by hand in an environment with JAX: benchmarks, and recorders of test data;
# and programs for which OLYMPUS is JAX.
RUNS_BESIDE_JAX = re.compile(
    r"benchmarks/|.*/tests/\w+/record\w*\.py$|integration_tests/ecosystem/"
)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def project_table(package: Path) -> dict:
    return tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read_version(package: Path) -> str:
    about = package / "src" / package.name.replace("-", "_") / "__about__.py"
    match = re.search(r'^__version__ = "(.+)"$', about.read_text(encoding="utf-8"), re.MULTILINE)
    assert match, f"{about} has no line __version__ = ..."
    return match[1]


packages = pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)


@packages
def test_package_is_complete(package: Path) -> None:
    source = package / "src" / package.name.replace("-", "_")
    expected = [package / name for name in ("README.md", "CHANGELOG.md", "LICENSE", "tests")]
    expected += [source / name for name in ("__init__.py", "__about__.py", "py.typed")]
    assert [relative(path) for path in expected if not path.exists()] == []
    assert list(package.glob("tests/**/test_*.py")), f"{package.name} has no tests"


@packages
def test_package_has_the_licence_of_the_repository(package: Path) -> None:
    assert (package / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert project_table(package)["license"] == "Apache-2.0"


@packages
def test_readme_example_uses_the_package(package: Path) -> None:
    text = (package / "README.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).partition(".")[0]
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert package.name.replace("-", "_") in imported
    assert len(code.splitlines()) >= 5, f"{package.name}: ten lines of use, or so"


@packages
def test_names_and_versions_of_packages(package: Path) -> None:
    project = project_table(package)
    assert project["name"] == package.name
    assert "version" in project["dynamic"]
    assert read_version(package)


@packages
def test_ranges_between_packages_admit_the_tree(package: Path) -> None:
    table = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))
    versions = {other.name: read_version(other) for other in PACKAGES}
    declared = table["project"]["dependencies"] + table["dependency-groups"]["test"]
    ours = [each for each in map(Requirement, declared) if each.name in versions]
    for requirement in ours:
        bounds = {each.operator for each in requirement.specifier}
        assert bounds in ({"~="}, {">=", "<"}), f"{requirement} lacks an end"
        assert requirement.specifier.contains(versions[requirement.name], prereleases=True)


def test_requirements_file_installs_every_package() -> None:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    listed = {re.sub(r"\[.*\]", "", line.removeprefix("-e ")) for line in lines if line[:2] == "-e"}
    assert listed == {relative(package) for package in PACKAGES}


def test_tool_configuration_names_every_package() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    names = {package.name.replace("-", "_") for package in PACKAGES}
    assert set(tools["importlinter"]["root_packages"]) == names
    assert set(tools["ruff"]["lint"]["isort"]["known-first-party"]) == names


def test_source_files_state_their_licence() -> None:
    assert [
        relative(path)
        for path in SOURCES
        if path.read_text(encoding="utf-8").partition("\n")[0] != SPDX_HEADER
    ] == []


def test_jax_is_never_imported() -> None:
    importers = []
    for path in SOURCES:
        if RUNS_BESIDE_JAX.match(relative(path)):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            if any(name.partition(".")[0] == "jax" for name in names):
                importers.append(relative(path))
    assert importers == []


def test_document_links_resolve() -> None:
    broken = []
    for path in DOCUMENTS:
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if not re.match(r"[a-z]+:", target) and not (path.parent / target).exists():
                broken.append(f"{relative(path)}: {target}")
    assert broken == []


# JaxRuntimeError is jaxlib's own.
ERRORS = {each.__name__ for each in vars(errors).values() if isinstance(each, type)}


@pytest.mark.parametrize("error", sorted(ERRORS & {*errors.__all__} - {"JaxRuntimeError"}))
def test_each_error_has_a_section(error: str) -> None:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert f"({error.lower()})=" in text
    assert f"`{error}`" in text


def test_property_tests_have_no_deadline() -> None:
    assert hypothesis.settings().deadline is None, "see conftest.py"
    with_deadline = [
        relative(path)
        for path in SOURCES
        if re.search(r"\bdeadline=\d", path.read_text(encoding="utf-8"))
    ]
    assert with_deadline == []
