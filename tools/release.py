# SPDX-License-Identifier: Apache-2.0
"""Prepares the release of one package: version, changelog, commit and tag.

``prepare("olympus-random", "minor")`` raises the version of the package, moves the fragments in its
folder ``changes`` to a new section of its changelog, widens the ranges of dependent packages that
exclude the new version, commits, and tags ``olympus-random-v0.2.0``. Nothing is uploaded.
docs/versions.md describes the policy.
"""

from __future__ import annotations

import datetime
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

# The kinds of changelog fragments, and their headings in the changelog.
KINDS = {
    "added": "Added",
    "changed": "Changed",
    "deprecated": "Deprecated",
    "removed": "Removed",
    "fixed": "Fixed",
    "security": "Security",
}


class Version(NamedTuple):
    """A version of a package: three numbers."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return ".".join(map(str, self))

    def raised(self, part: str) -> Version:
        """Returns the next version.

        Args:
          part: "major", "minor" or "patch".

        Raises:
          ValueError: ``part`` is unknown.
        """
        if part == "major":
            return Version(self.major + 1, 0, 0)
        if part == "minor":
            return Version(self.major, self.minor + 1, 0)
        if part == "patch":
            return Version(self.major, self.minor, self.patch + 1)
        raise ValueError(f"the part of a version must be major, minor or patch, got {part!r}")


def parse(text: str) -> tuple[Version, bool]:
    """Returns a version and whether it is a development version, such as ``0.1.0.dev0``."""
    match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)(\.dev\d+)?", text)
    if match is None:
        raise ValueError(f"not a version of a package: {text!r}")
    return Version(*map(int, match.groups()[:3])), match[4] is not None


def prepare(package: str, part: str, root: Path = ROOT) -> str:
    """Prepares a release and returns its tag.

    Args:
      package: the name of a package, such as "olympus-random".
      part: "major", "minor", "patch", or "first": a development version without its suffix.
      root: the repository.

    Raises:
      ValueError: there is no such package, the changelog would be empty, or the working tree has
        changes that are not committed.
    """
    folder = root / "packages" / package
    if not folder.is_dir():
        raise ValueError(f"there is no package {package!r} in {root / 'packages'}")
    if git(root, "status", "--porcelain", "--untracked-files=no"):
        raise ValueError("the working tree has changes: commit them first")
    about = next(folder.glob("src/*/__about__.py"))
    current, is_development = parse(version_in(about))
    new = current if part == "first" and is_development else current.raised(part)
    section = changelog_section(folder, new)
    write_version(about, new)
    insert_section(folder / "CHANGELOG.md", section)
    for fragment in fragments(folder):
        fragment.unlink()
    for project in sorted(root.glob("packages/*/pyproject.toml")):
        widen_range(project, package, new)
    tag = f"{package}-v{new}"
    git(root, "add", "--all", "packages")
    git(root, "commit", "--quiet", "--message", f"Release {package} {new}")
    git(root, "tag", "--annotate", tag, "--message", f"{package} {new}")
    return tag


def version_in(about: Path) -> str:
    """Returns the version that a file ``__about__.py`` declares."""
    match = re.search(r'^__version__ = "([^"]+)"', about.read_text("utf-8"), re.MULTILINE)
    if match is None:
        raise ValueError(f"{about} declares no version")
    return match[1]


def write_version(about: Path, version: Version) -> None:
    """Replaces the version in a file ``__about__.py``."""
    text = re.sub(
        r'^__version__ = "[^"]+"',
        f'__version__ = "{version}"',
        about.read_text("utf-8"),
        flags=re.MULTILINE,
    )
    about.write_text(text, "utf-8")


def fragments(folder: Path) -> list[Path]:
    """Returns the changelog fragments of a package: ``changes/<topic>.<kind>.md``."""
    found = sorted((folder / "changes").glob("*.md"))
    for path in found:
        if path.name.split(".")[-2] not in KINDS:
            raise ValueError(
                f"{path.name}: fragments are named <topic>.<kind>.md, where the kind is one of "
                f"{', '.join(KINDS)}"
            )
    return found


def changelog_section(folder: Path, version: Version) -> str:
    """Returns the changelog's section for a version, from "Unreleased" and the fragments.

    Raises:
      ValueError: nothing has changed.
    """
    entries: dict[str, list[str]] = {heading: [] for heading in KINDS.values()}
    heading = ""
    for line in unreleased(folder / "CHANGELOG.md").splitlines():
        if line.startswith("### "):
            heading = line.removeprefix("### ")
            entries.setdefault(heading, [])
        elif line.strip():
            entries[heading].append(line)
    for path in fragments(folder):
        text = " ".join(path.read_text("utf-8").split())
        entries[KINDS[path.name.split(".")[-2]]].append(f"- {text}")
    parts = ["\n".join([f"### {name}", "", *lines]) for name, lines in entries.items() if lines]
    if not parts:
        raise ValueError(f"{folder.name} has no changes to release: add fragments to changes/")
    today = datetime.date.today().isoformat()
    return "\n\n".join([f"## {version} - {today}", *parts])


def unreleased(changelog: Path) -> str:
    """Returns the text of the section "Unreleased"."""
    _, _, after = changelog.read_text("utf-8").partition("## Unreleased\n")
    return re.split(r"^## ", after, maxsplit=1, flags=re.MULTILINE)[0]


def insert_section(changelog: Path, section: str) -> None:
    """Replaces the section "Unreleased" by an empty one and the section of a release."""
    before, _, after = changelog.read_text("utf-8").partition("## Unreleased\n")
    older = re.split(r"^(?=## )", after, maxsplit=1, flags=re.MULTILINE)[1:]
    text = f"{before}## Unreleased\n\n{section}\n"
    if older:
        text += "\n" + older[0]
    changelog.write_text(text, "utf-8")


def widen_range(project: Path, package: str, version: Version) -> None:
    """Widens the requirements of the packages that depend on a package to accept a new version.

    A requirement keeps its lower bound. Its upper bound becomes the next version that may break it:
    the next major version, or before 1.0 the next minor one.
    """
    limit = version.raised("major" if version.major else "minor")
    pattern = rf'"{re.escape(package)}(?:~=|>=)([0-9][^",]*)(?:,<[^"]*)?"'
    text = project.read_text("utf-8")
    new = re.sub(pattern, lambda match: f'"{package}>={match[1]},<{limit}"', text)
    if new != text:
        project.write_text(new, "utf-8")


def git(root: Path, *arguments: str) -> str:
    """Runs git in the repository and returns its output."""
    command = ("git", "-C", str(root), *arguments)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
