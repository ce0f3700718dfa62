# SPDX-License-Identifier: Apache-2.0
"""Existence of the pages, sections, names, flags, variables and pictures in documents."""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from olympus_ir.settings.configuration import config

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import reference_notes
import reference_tables

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
DECISIONS = sorted((DOCS / "decisions").glob("*.md"))
READMES = [ROOT / "README.md", *sorted(ROOT.glob("packages/*/README.md"))]
GUIDES = [page for page in PAGES if page.stem not in ("mistakes", "primitives")]

# Names that pages mention because they do not exist, or that are parts of files and tables.
NO_NAMES = {
    "nn.Module",  # PyTorch's
    "olympus.compile_options",  # attributes of a module of StableHLO
    "olympus.module",
}
NO_FLAGS = {"olympus_to_ir"}  # a command line


def prose(path: Path) -> str:
    """Returns the text of a document without its blocks of code."""
    return re.sub(r"^ *```.*?^ *```", "", path.read_text("utf-8"), flags=re.M | re.S)


def dotted_names(text: str) -> Iterator[str]:
    """Yields the dotted names in the inline code of a text."""
    for code in re.findall(r"`([^`\n]+)`", text):
        for name in re.findall(r"(?<![\w./\"-])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", code):
            if not name.endswith((".py", ".md", ".toml")):
                yield name


@functools.cache
def exists(name: str) -> bool:
    """Returns whether a name is one of OLYMPUS's, or does not claim to be."""
    first, _, rest = name.partition(".")
    home = reference_notes.ALIASES.get(first, first)
    if home.partition(".")[0] != "olympus":
        return True
    parts = f"{home}.{rest}".split(".")
    found = importlib.import_module("olympus")
    for count, part in enumerate(parts[1:], start=2):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(".".join(parts[:count]))
            except ImportError:
                return False
    return True


@pytest.mark.parametrize("path", [*GUIDES, *READMES], ids=lambda path: path.parent.name + path.stem)
def test_names_exist(path: Path) -> None:
    unknown = {name for name in dotted_names(prose(path)) if not exists(name)}
    assert unknown <= NO_NAMES


def test_flags_and_variables_exist() -> None:
    flags = set(config._flags)
    variables = {name.upper() for name in flags} | set(reference_tables.variables_read())
    packages = {path.name.replace("-", "_") for path in ROOT.glob("packages/*")}
    unknown = set()
    for path in [*GUIDES, *READMES]:
        text = path.read_text("utf-8")
        unknown |= set(re.findall(r"\bolympus_[a-z0-9_]+\b", text)) - flags - packages - NO_FLAGS
        unknown |= set(re.findall(r"\bOLYMPUS_[A-Z0-9_]+\b", text)) - variables
    assert unknown == set()


def test_each_page_is_in_the_contents_once() -> None:
    texts = "".join(page.read_text("utf-8") for page in PAGES)
    blocks = re.findall(r"```\{toctree\}(.*?)```", texts, re.S)
    listed = [line for block in blocks for line in block.split() if not line.startswith(":")]
    listed = [line for line in listed if (DOCS / f"{line}.md").exists() and "/" not in line]
    assert sorted(listed) == sorted(page.stem for page in PAGES if page.stem != "index")


def sections(path: Path) -> set[str]:
    """Returns the names by which links reach the sections of a document."""
    text = prose(path)
    headings = re.findall(r"^#{1,6} (.+)$", text, re.M)
    slugs = {re.sub(r"[^\w\- ]", "", each.lower()).strip().replace(" ", "-") for each in headings}
    return slugs | set(re.findall(r"^\(([\w-]+)\)=$", text, re.M))


@pytest.mark.parametrize("path", [*PAGES, *DECISIONS, *READMES], ids=lambda path: path.stem)
def test_links_lead_to_sections(path: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]*#[^)\s]+)\)", prose(path)):
        file, _, section = target.partition("#")
        page = (path.parent / file).resolve() if file else path
        if not re.match(r"[a-z]+:", target) and page.suffix == ".md":
            if section not in sections(page):
                broken.append(target)
    assert broken == []


def test_gallery_pictures() -> None:
    text = (DOCS / "gallery.md").read_text("utf-8")
    programs = {path.stem for path in (ROOT / "examples" / "gallery").glob("*.py")} - {"pictures"}
    assert len(programs) == 12
    for name in programs:
        assert f"(gallery/{name}.png)" in text, name
        assert f"../examples/gallery/{name}.py" in text, name
        assert (DOCS / "gallery" / f"{name}.png").stat().st_size > 2000, name


def test_the_changelog_of_each_package_is_listed() -> None:
    text = (DOCS / "changelogs.md").read_text("utf-8")
    for package in ROOT.glob("packages/*/pyproject.toml"):
        assert f"../packages/{package.parent.name}/CHANGELOG.md" in text
