# SPDX-License-Identifier: Apache-2.0
"""Configuration flags on the command line, which absl reads in programs that use absl.

absl is not a dependency. It is imported when a program requests absl flags.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .configuration import Flag

__all__ = ["declare", "read"]

_declared: set[str] = set()


def _absl(name: str) -> Any:
    return importlib.import_module(f"absl.{name}")


def declare(flags: Mapping[str, Flag]) -> None:
    """Declares flags to absl, so that `absl.app.run` sets them from the command line.

    Args:
      flags: the flags by their names on the command line. Already declared flags are skipped.
    """
    absl_flags = _absl("flags")
    new = [name for name in flags if name not in _declared]
    for name in new:
        _declared.add(name)
        flag = flags[name]
        if flag.kind.is_truth:
            absl_flags.DEFINE_bool(name, flag.value, flag.description)
        else:
            absl_flags.DEFINE(_parser(flag), name, flag.value, flag.description)
    if new:
        _absl("app").call_after_init(lambda: _take_over({name: flags[name] for name in new}))


def read(flags: Mapping[str, Flag]) -> None:
    """Declares flags to absl, and immediately reads them from the program's arguments.

    Args:
      flags: the flags by their names on the command line.
    """
    absl_flags = _absl("flags")
    declare(flags)
    names = {f"{dashes}{no}{name}" for name in flags for dashes in ("-", "--") for no in ("", "no")}
    options = [option for option in _options(sys.argv[1:]) if option.partition("=")[0] in names]
    absl_flags.FLAGS([sys.argv[0], *options], known_only=True)
    _take_over(flags)


def _options(arguments: list[str]) -> list[str]:
    """Returns the arguments before ``--``, which ends the list of options."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _take_over(flags: Mapping[str, Flag]) -> None:
    absl_flags = _absl("flags")
    for name, flag in flags.items():
        if absl_flags.FLAGS[name].present:
            flag.update(absl_flags.FLAGS[name].value)


def _parser(flag: Flag) -> Any:
    """Returns an absl parser that parses an option like the flag's environment variable."""
    absl_flags = _absl("flags")

    class Parser(absl_flags.ArgumentParser):
        def parse(self, argument: Any) -> Any:
            value = flag.kind.from_text(argument) if isinstance(argument, str) else argument
            return flag.parse(value)

        def flag_type(self) -> str:
            return "string"

    return Parser()
