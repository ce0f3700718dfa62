# SPDX-License-Identifier: Apache-2.0
"""Dumps of compiled programs, in the folder named by ``olympus_dump_ir_to``."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.settings import config_flags

__all__ = ["dump_program"]

_count = itertools.count()


def _stablehlo(lowered: Any) -> str:
    has_locations = config_flags.include_debug_info_in_dumps.value
    return lowered.module.operation.get_asm(enable_debug_info=has_locations)


def _olympuspr(lowered: Any) -> str:
    return f"{lowered.closed}\n"


# For each mode, the ending of the file name and a function that returns the contents.
_MODES: dict[str, tuple[str, Callable[[Any], str]]] = {
    "stablehlo": ("mlir", _stablehlo),
    "jaxpr": ("olympuspr.txt", _olympuspr),
    "olympuspr": ("olympuspr.txt", _olympuspr),
}


def dump_program(lowered: Any) -> list[Path]:
    """Writes a lowered program in the forms named by the flag ``olympus_dump_ir_modes``.

    Args:
      lowered: the program, with its olympuspr and its module.

    Returns:
      The paths of the files. Their names number the programs in the order of compilation. If the
      files cannot be written, a warning says so, and there are none.

    Raises:
      ValueError: a mode is unknown.
    """
    target = config_flags.dump_ir_to.value
    if target == "sponge":  # "sponge" stands for the folder in which a test runner collects files
        target = os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR", "")
        if not target:
            raise ValueError(
                "olympus_dump_ir_to is 'sponge', and TEST_UNDECLARED_OUTPUTS_DIR is not set; name "
                "a folder instead"
            )
    modes = [mode for mode in config_flags.dump_ir_modes.value.split(",") if mode]
    for mode in modes:
        if mode not in _MODES:
            raise ValueError(
                f"olympus_dump_ir_modes has {mode!r}; there are {', '.join(sorted(_MODES))}"
            )
    try:
        return _written(lowered, modes, Path(target))
    except OSError as error:  # a full disk must not stop a job
        warn_user(f"olympus_dump_ir_to: the program {lowered.name} could not be written: {error}")
        return []


def _written(lowered: Any, modes: list[str], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w.-]", "_", lowered.name)
    stem = f"olympus_ir{next(_count):04d}_jit_{name}_compile"
    files = []
    for mode in modes:
        ending, text = _MODES[mode]
        files.append(folder / f"{stem}.{ending}")
        files[-1].write_text(text(lowered))
    return files
