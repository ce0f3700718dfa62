# SPDX-License-Identifier: Apache-2.0
"""docs/flags.md lists the declared flags. Each is read, or documented as without effect."""

import ast
import re
import subprocess
import sys
from pathlib import Path

from olympus_ir.settings.config import config
from olympus_ir.settings.flags_without_effect import REASONS

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "flags.md"
TOOL = ROOT / "tools" / "flags_page.py"

DECLARATIONS = ("config", "config_flags", "config_cache_flags", "config_states")
# Acts on other flags where it is declared.
ACTS_ITSELF = {"transfer_guard"}


def flags_read_by(tree):
    """Returns the names that a module imports from the declarations, or takes as attributes."""
    aliases = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for name in node.names:
                if name.name in DECLARATIONS:
                    aliases.add(name.asname or name.name)
                elif (node.module or "").rpartition(".")[2] in DECLARATIONS:
                    yield name.name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in aliases:
                yield node.attr.removeprefix("olympus_")


def test_flags_are_read():
    read = set(ACTS_ITSELF)
    for path in ROOT.glob("packages/*/src/**/*.py"):
        if path.parent.name == "settings" and path.stem in DECLARATIONS:
            continue
        read.update(flags_read_by(ast.parse(path.read_text("utf-8"))))
    declared = {name.removeprefix("olympus_") for name in config}
    assert declared - read == set(REASONS)


def test_page_is_up_to_date():
    subprocess.run([sys.executable, str(TOOL), "--check"], check=True)


def test_default_is_value_that_flag_accepts():
    defaults = dict(re.findall(r"\| `(\w+)` \| `(.+?)` \|", PAGE.read_text("utf-8")))
    for name in config:
        shown = name.removeprefix("olympus_")
        if shown not in REASONS:
            flag = config.flag(name)
            assert flag.kind.parse(ast.literal_eval(defaults[shown])) == flag.default
