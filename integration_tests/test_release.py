# SPDX-License-Identifier: Apache-2.0
"""Preparation of releases (tools/release.py), in a small repository of two packages."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "tools" / "release.py"
spec = importlib.util.spec_from_file_location("release", SOURCE)
assert spec is not None and spec.loader is not None
release = importlib.util.module_from_spec(spec)
spec.loader.exec_module(release)

CHANGELOG = """# Changelog of lower

## Unreleased

### Fixed

- A thing.

## 0.1.0 - 2026-01-01

### Added

- The first things.
"""


@pytest.fixture
def repository(tmp_path):
    for name, requirement in (("lower", "numpy>=2.0"), ("upper", "lower~=0.1.0")):
        folder = tmp_path / "packages" / name
        (folder / "src" / name).mkdir(parents=True)
        (folder / "changes").mkdir()
        (folder / "src" / name / "__about__.py").write_text('__version__ = "0.1.0"\n')
        (folder / "pyproject.toml").write_text(f'[project]\ndependencies = ["{requirement}"]\n')
        (folder / "CHANGELOG.md").write_text(CHANGELOG.replace("lower", name))
    (tmp_path / "packages" / "lower" / "changes" / "samplers.added.md").write_text(
        "Two new\nsamplers.\n"
    )
    for command in (
        ("init", "--quiet"),
        ("config", "user.name", "Test"),
        ("config", "user.email", "test@localhost"),
        ("add", "--all"),
        ("commit", "--quiet", "--message", "Begin"),
    ):
        subprocess.run(("git", "-C", str(tmp_path), *command), check=True)
    return tmp_path


def test_release_changes_one_version_and_dependency_ranges(repository):
    assert release.prepare("lower", "minor", repository) == "lower-v0.2.0"
    lower, upper = repository / "packages" / "lower", repository / "packages" / "upper"
    assert release.version_in(lower / "src" / "lower" / "__about__.py") == "0.2.0"
    assert release.version_in(upper / "src" / "upper" / "__about__.py") == "0.1.0"
    assert '"lower>=0.1.0,<0.3.0"' in (upper / "pyproject.toml").read_text()
    assert release.git(repository, "tag").split() == ["lower-v0.2.0"]
    assert release.git(repository, "status", "--porcelain") == ""


def test_the_changelog_joins_fragments_and_unreleased_entries(repository):
    release.prepare("lower", "patch", repository)
    text = (repository / "packages" / "lower" / "CHANGELOG.md").read_text()
    new, _, old = text.partition("## 0.1.1 - ")[2].partition("## 0.1.0 - 2026-01-01")
    assert "### Added\n\n- Two new samplers.\n" in new
    assert "### Fixed\n\n- A thing.\n" in new
    assert "- The first things." in old
    assert text.index("## Unreleased\n\n## 0.1.1") > 0
    assert not list((repository / "packages" / "lower" / "changes").glob("*.md"))


def test_patch_release_keeps_the_dependency_range(repository):
    release.prepare("lower", "patch", repository)
    requirement = (repository / "packages" / "upper" / "pyproject.toml").read_text()
    assert '"lower>=0.1.0,<0.2.0"' in requirement


def test_invalid_releases_raise(repository):
    with pytest.raises(ValueError, match="no package 'middle'"):
        release.prepare("middle", "minor", repository)
    with pytest.raises(ValueError, match="major, minor or patch"):
        release.prepare("lower", "huge", repository)
    release.prepare("lower", "minor", repository)
    with pytest.raises(ValueError, match="no changes to release"):
        release.prepare("lower", "minor", repository)
    (repository / "packages" / "upper" / "pyproject.toml").write_text("changed")
    with pytest.raises(ValueError, match="commit them first"):
        release.prepare("lower", "minor", repository)


def test_unknown_fragment_kinds_raise(repository):
    path = repository / "packages" / "lower" / "changes" / "samplers.improved.md"
    path.write_text("Better.")
    with pytest.raises(ValueError, match=r"<topic>\.<kind>\.md"):
        release.prepare("lower", "minor", repository)
