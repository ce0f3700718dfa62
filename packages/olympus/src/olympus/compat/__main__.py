# SPDX-License-Identifier: Apache-2.0
"""``python -m olympus.compat``: runs a JAX program on OLYMPUS."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Sequence

from . import install


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m olympus.compat",
        description="Runs a program that is written for JAX on OLYMPUS.",
    )
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("-m", dest="module", metavar="module", help="run a module")
    target.add_argument("-c", dest="code", metavar="code", help="run a piece of code")
    target.add_argument("program", nargs="?", help="run a file")
    return parser


def _split(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Splits a command line into the program to run and the program's arguments."""
    count = 2 if arguments and arguments[0] in ("-m", "-c") else 1
    return arguments[:count], arguments[count:]


def main(arguments: Sequence[str]) -> None:
    """Runs a program as the interpreter itself would.

    Args:
      arguments: the command line without the interpreter and ``-m olympus.compat``.
    """
    ours, theirs = _split(arguments)
    options = _parser().parse_args(ours)
    install()
    if options.module is not None:
        sys.argv[:] = [options.module, *theirs]
        sys.path[0] = os.getcwd()
        runpy.run_module(options.module, run_name="__main__", alter_sys=True)
    elif options.code is not None:
        sys.argv[:] = ["-c", *theirs]
        sys.path[0] = ""
        exec(compile(options.code, "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv[:] = [options.program, *theirs]
        sys.path[0] = os.path.dirname(os.path.abspath(options.program))
        runpy.run_path(options.program, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
