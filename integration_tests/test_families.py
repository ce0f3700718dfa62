# SPDX-License-Identifier: Apache-2.0
"""Each family of primitives has files of the same name in every rule folder."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGES = Path(__file__).resolve().parent.parent / "packages"
FOLDERS = {
    "lax": "olympus-ir/src/olympus_ir/lax",
    "reference": "olympus-ir/src/olympus_ir/reference",
    "propagation": "olympus-ir/src/olympus_ir/propagation",
    "batching": "olympus-batching/src/olympus_batching/rules",
    "autodiff": "olympus-autodiff/src/olympus_autodiff/rules",
    "lowering": "olympus-xla/src/olympus_xla/compiling/lowering/rules",
    "samples": "olympus-testing/src/olympus_testing/samples",
}
FAMILIES = sorted(
    {
        family
        for folder in ("lax", "references")
        for path in PACKAGES.glob(f"olympus-ir/src/olympus_ir/{folder}/**/*.py")
        for family in re.findall(r'family(?:: str)? ?= ?"(\w+)"', path.read_text(encoding="utf-8"))
    }
)

# Names in `lax` that are no family, and the reasons.
NO_FAMILY = {
    "core": "shared by all families; declares no primitive",
    "recurrent": "primitives of olympus-nn, which the compiler's package must know",
}
DECLARED_TYPES = "the parameters say what types the results have, see `declared_types`"
# From a folder and a family to the reason why the family has no file there.
REASONS = {
    ("lax", "references"): "references stand above lax: olympus_ir/references/primitives.py",
    ("batching", "special"): "the rules follow from the declaration as elementwise",
    ("lowering", "ragged"): "the rule follows from the expansion",
    ("propagation", "special"): "the rules follow from the declaration as elementwise",
    **{
        ("propagation", family): DECLARED_TYPES
        for family in (
            "annotations",
            "calls",
            "callbacks",
            "control_flow",
            "references",
            "tokens",
        )
    },
}


def has_file(folder: str, family: str) -> bool:
    path = PACKAGES / FOLDERS[folder] / family
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def test_each_family_has_its_file_in_each_folder():
    assert len(FAMILIES) > 20
    missing = {(folder, family) for folder in FOLDERS for family in FAMILIES}
    missing = {(folder, family) for folder, family in missing if not has_file(folder, family)}
    assert missing == set(REASONS)


def test_lax_holds_families_only():
    folder = PACKAGES / FOLDERS["lax"]
    names = {path.stem for path in folder.iterdir() if not path.name.startswith("__")}
    assert names - set(FAMILIES) == set(NO_FAMILY)


def test_primitives_of_a_family_lie_in_its_folder():
    misplaced = []
    folder = PACKAGES / FOLDERS["lax"]
    for path in folder.rglob("*.py"):
        own = path.relative_to(folder).with_suffix("").parts[0]
        text = path.read_text(encoding="utf-8")
        if own != "core":
            declared = set(re.findall(r'family="(\w+)"', text))
            misplaced += [f"{path.name}: {family}" for family in declared - {own}]
    assert misplaced == []
