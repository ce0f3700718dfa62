# SPDX-License-Identifier: Apache-2.0
"""Rehearses a separate release of olympus-random, with a local package index.

In a copy of the repository, olympus-random gets a compatible release, and then a release that older
packages do not accept. An index on this machine serves both releases, and the current wheels of all
packages. Then the meta-package is installed in its old and its new version. Each version must
install the newest olympus-random that it accepts. ``python tools/rehearse_release.py DIST FOLDER``
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from release import ROOT, git, prepare

PROGRAM = """
import importlib.metadata as metadata
import numpy
import olympus
from olympus import random

drawn = random.normal(random.key(0), (3,))
numpy.testing.assert_allclose(drawn, [1.6226422, 2.0252647, -0.43359444], rtol=1e-6)
assert float(olympus.grad(lambda x: x**2)(3.0)) == 6.0
print(metadata.version("olympus"), metadata.version("olympus-random"))
"""


def build(package: str, root: Path, folder: Path) -> None:
    """Builds the wheel of a package in a copy of the repository."""
    command = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    subprocess.run(command, check=True, cwd=root / "packages" / package, capture_output=True)


@contextlib.contextmanager
def index(folder: Path) -> Iterator[str]:
    """Serves the wheels in a folder on this machine, and yields the address."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    options = ("run", "-i", "127.0.0.1", "-p", str(port), "--disable-fallback", str(folder))
    server = subprocess.Popen(
        (sys.executable, "-m", "pypiserver", *options), stdout=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}/simple/"
    try:
        for _ in range(100):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(address).close()
                break
            time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait()


def versions_installed(requirement: str, address: str, folder: Path) -> list[str]:
    """Installs a requirement in a new environment; returns the versions of the two packages."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(("uv", "venv", "--quiet", str(folder)), check=True)
    python = next(path for path in folder.glob("*/python*") if path.stem == "python")
    command = ("uv", "pip", "install", "--quiet", "--python", str(python), requirement)
    # The other packages of the index are development versions.
    options = ("--prerelease", "allow", "--extra-index-url", address)
    subprocess.run((*command, *options), check=True)
    shown = subprocess.run((python, "-c", PROGRAM), check=True, capture_output=True, text=True)
    return shown.stdout.split()


def main() -> None:
    """Rehearses the release."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dist", type=Path, help="the folder of the current wheels of all packages")
    parser.add_argument("folder", type=Path, help="a folder for the copy and the index")
    given = parser.parse_args()
    work = given.folder.resolve()
    copy, wheels = work / "copy", work / "index"
    for folder in (copy, wheels):
        shutil.rmtree(folder, ignore_errors=True)
    git(ROOT, "clone", "--quiet", str(ROOT), str(copy))
    for name, value in (("user.name", "Rehearsal"), ("user.email", "rehearsal@localhost")):
        git(copy, "config", name, value)
    shutil.copytree(given.dist, wheels, ignore=shutil.ignore_patterns("release"))

    print("tagged", prepare("olympus-random", "first", copy))
    build("olympus-random", copy, wheels)
    change = copy / "packages" / "olympus-random" / "changes"
    change.mkdir(exist_ok=True)
    (change / "rehearsal.changed.md").write_text("A change that older packages do not accept.\n")
    git(copy, "add", "--all")
    git(copy, "commit", "--quiet", "--message", "Change olympus-random")
    print("tagged", prepare("olympus-random", "minor", copy))
    build("olympus-random", copy, wheels)
    for project in sorted(copy.glob("packages/*/pyproject.toml")):
        package = project.parent.name
        if '"olympus-random>=' in project.read_text(
            "utf-8"
        ):  # packages whose accepted range is wider now
            print("tagged", prepare(package, "first", copy))
            build(package, copy, wheels)

    with index(wheels) as address:
        old = versions_installed("olympus==0.1.0.dev0", address, work / "old")
        new = versions_installed("olympus>=0.1.0", address, work / "new")
    print(f"the older olympus {old[0]} runs with olympus-random {old[1]}")
    print(f"the newer olympus {new[0]} runs with olympus-random {new[1]}")
    if old != ["0.1.0.dev0", "0.1.0"] or new != ["0.1.0", "0.2.0"]:
        sys.exit("the installed versions do not match the declared ranges")


if __name__ == "__main__":
    main()
