# SPDX-License-Identifier: Apache-2.0
"""The option ``--olympus-tiers`` of pytest."""

from __future__ import annotations

import subprocess
import sys

import pytest

SUITE = """
import olympus
import olympus.numpy as jnp

def test_tier():
    f = olympus.jit(lambda x: jnp.sin(x) + 1)
    assert float(f(0.0)) == 1.0
    assert f.tier == "{tier}"
"""


@pytest.mark.parametrize(
    ("options", "tier"), [(["--olympus-tiers"], "reference"), ([], "compiled")]
)
def test_option_turns_tiers_on(tmp_path, options, tier):
    (tmp_path / "test_suite.py").write_text(SUITE.format(tier=tier))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "olympus_pytest",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), *options, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_help_describes_the_option(tmp_path):
    command = [sys.executable, "-m", "pytest", "-p", "olympus_pytest", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert "--olympus-tiers" in done.stdout
