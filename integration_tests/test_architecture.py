# SPDX-License-Identifier: Apache-2.0
"""Agreement of docs/architecture.md and the import contracts with the source tree."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]["contracts"]
PACKAGES = {path.name: path for path in ROOT.glob("packages/*/src/olympus*") if path.is_dir()}
# `olympus` defines nothing: its folders mirror public names.
LAYERED = sorted(PACKAGES.keys() - {"olympus"})
REFERENCES = sorted(set(re.findall(r"`(olympus\w*/[\w/]+\.py)(?:::(\w+))?`", PAGE)))


def folders_of(package: str) -> set[str]:
    return {path.parent.name for path in PACKAGES[package].glob("*/__init__.py")}


def section_of(package: str) -> str:
    found = re.search(rf"^### `{package}`\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"docs/architecture.md has no section `{package}`"
    return found[1]


@pytest.mark.parametrize(
    "path, name", REFERENCES, ids=["::".join(filter(None, each)) for each in REFERENCES]
)
def test_paths_and_names_exist(path: str, name: str) -> None:
    file = PACKAGES[path.partition("/")[0]].parent / path
    assert file.exists()
    if name:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        kinds = ast.FunctionDef | ast.ClassDef
        defined = {node.name for node in ast.walk(tree) if isinstance(node, kinds)}
        assert name in defined


@pytest.mark.parametrize("package", LAYERED)
def test_every_folder_is_described(package: str) -> None:
    named = set(re.findall(r"^\| `(\w+)` \|", section_of(package), re.MULTILINE))
    assert named == folders_of(package)


@pytest.mark.parametrize("package", LAYERED)
def test_no_package_has_a_circle(package: str) -> None:
    assert any(
        contract["type"] == "acyclic_siblings" and package in contract["ancestors"]
        for contract in CONTRACTS
    ), f"pyproject.toml has no contract against import circles in {package}"


@pytest.mark.parametrize("package", [name for name in LAYERED if len(folders_of(name)) > 1])
def test_folders_are_layered_in_order_of_page(package: str) -> None:
    layers = [
        [layer.strip() for layer in re.split(r"[|:]", line)]
        for contract in CONTRACTS
        if contract["type"] == "layers" and contract.get("containers") == [package]
        for line in contract["layers"]
    ]
    height = {name: -level for level, line in enumerate(layers) for name in line}
    assert folders_of(package) <= set(height), "folders without a layer"
    named = re.findall(r"^\| `(\w+)` \|", section_of(package), re.MULTILINE)
    heights = [height[name] for name in named]
    assert heights == sorted(heights, reverse=True), "the page lists folders from the top"


def test_packages_are_layered_in_order_of_page() -> None:
    (layers,) = (
        contract["layers"]
        for contract in CONTRACTS
        if contract["type"] == "layers" and "containers" not in contract
    )
    rows = re.findall(r"^\| \d \| (.*) \|$", PAGE, re.MULTILINE)
    described = [set(re.findall(r"`(\w+)`", row)) for row in rows]
    assert described == [{name.strip() for name in line.split("|")} for line in layers]
