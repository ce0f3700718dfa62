# SPDX-License-Identifier: Apache-2.0
"""The command line ``python -m olympus``.

`installation` gathers the facts about the installation; `doctor` and `info` show these facts;
`caches` shows and clears the caches on disk; `frozen` reads files of frozen functions; `examples`
lists, copies and runs the examples in the folder of that name.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from olympus_ir.settings.config import config

from . import caches, doctor, examples, frozen, info

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Runs a command.

    Args:
      arguments: the command line without the interpreter and ``-m olympus``.

    Returns:
      The exit status: 0 if all is well, 1 if there is a problem. argparse ends the process with 2
      if the arguments are invalid, or an environment variable unless the doctor shows it.

    Example:
      >>> main(["--help"])  # doctest: +ELLIPSIS
      Traceback (most recent call last):
      SystemExit: 0
    """
    parser = argparse.ArgumentParser(
        prog="python -m olympus",
        description="Inspects and maintains an installation of OLYMPUS.",
        epilog="The default command is `doctor`. The exit status is 0 if all is well, 1 if there "
        "is a problem, 2 if the arguments are invalid.",
    )
    commands = parser.add_subparsers(title="commands", metavar="command")
    for command in (doctor, info, caches, frozen, examples):
        command.add_parser(commands)
    parser.set_defaults(run=doctor.run)
    options = parser.parse_args(arguments)
    if config.refused_variables and options.run is not doctor.run:
        parser.error(config.refusals())
    return options.run(options)
