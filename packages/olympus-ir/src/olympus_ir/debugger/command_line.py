# SPDX-License-Identifier: Apache-2.0
"""The debugger at the command line, which reads commands and prints values and source."""

from __future__ import annotations

import cmd
import inspect
import pprint
import sys
from collections.abc import Sequence
from typing import IO, Any

from .frames import DebuggerFrame

__all__ = ["CommandLineDebugger"]


class CommandLineDebugger(cmd.Cmd):
    """Debugger that reads commands until the program continues.

    Args:
      frames: the frames of the breakpoint, innermost first.
      stdin: the stream of commands.
      stdout: the stream of answers.
      completekey: the key that completes a command, if the terminal supports it.
    """

    prompt = "(jdb) "
    intro = "Entering jdb:"

    def __init__(
        self,
        frames: Sequence[DebuggerFrame],
        stdin: IO[str] | None = None,
        stdout: IO[str] | None = None,
        completekey: str = "tab",
    ) -> None:
        super().__init__(stdin=stdin, stdout=stdout, completekey=completekey)
        # With raw input, `cmd` reads from the terminal even if `stdin` is given.
        self.use_rawinput = stdin is None
        self.frames = list(frames)
        self.position = 0

    @property
    def frame(self) -> DebuggerFrame:
        """The frame in which expressions are evaluated."""
        return self.frames[self.position]

    def run(self) -> None:
        """Reads commands until a command ends the loop."""
        self.cmdloop()

    # ---- output ----

    def write(self, text: str) -> None:
        """Prints a line."""
        print(text, file=self.stdout)

    def write_error(self, error: BaseException) -> None:
        """Prints an error."""
        lines = str(error).split(" (<string>")
        self.write(f"*** {type(error).__name__}: {lines[0]}")

    def write_frame(self) -> None:
        """Prints the source around the line of the current frame."""
        if not self.frames:
            self.write("*** No frames.")
            return
        self.write(f"> {self.frame.filename}({self.frame.lineno})")
        for line in self.frame.listing():
            self.write(line)

    def evaluate(self, expression: str) -> tuple[bool, Any]:
        """Evaluates an expression; prints the error if it fails.

        Returns:
          Whether the evaluation succeeded, and the value.
        """
        try:
            if not self.frames:
                return True, eval(expression, {})
            return True, self.frame.evaluate(expression)
        except Exception as error:
            self.write_error(error)
            return False, None

    # ---- values ----

    def do_p(self, arg: str) -> None:
        """p expression
        Prints the value of an expression.
        """
        known, value = self.evaluate(arg)
        if known:
            self.write(repr(value))

    def do_pp(self, arg: str) -> None:
        """pp expression
        Prints the value of an expression, over several lines if it is long.
        """
        known, value = self.evaluate(arg)
        if known:
            self.write(pprint.pformat(value))

    def do_locals(self, arg: str) -> None:
        """locals
        Prints the names and values of the variables of the current frame.
        """
        for name, value in (self.frame.variables if self.frames else {}).items():
            self.write(f"{name} = {value!r}")

    def default(self, line: str) -> None:
        """Evaluates a line that is not a command."""
        self.do_p(line)

    # ---- source and frames ----

    def do_list(self, arg: str) -> None:
        """l(ist)
        Shows the source around the line of the current frame.
        """
        self.write_frame()

    def do_up(self, arg: str) -> None:
        """u(p)
        Goes to the calling frame.
        """
        if self.position + 1 < len(self.frames):
            self.position += 1
        else:
            self.write("At topmost frame.")
        self.write_frame()

    def do_down(self, arg: str) -> None:
        """d(own)
        Goes to the called frame.
        """
        if self.position:
            self.position -= 1
        else:
            self.write("At bottommost frame.")
        self.write_frame()

    def do_where(self, arg: str) -> None:
        """w(here), bt
        Shows the frames, the outermost first.
        """
        self.write("Traceback:")
        for frame in reversed(self.frames):
            self.write(f'  File "{frame.filename}", line {frame.lineno}')
            if frame.line:
                self.write(f"    {frame.line}")

    # ---- continuing and quitting ----

    def do_continue(self, arg: str) -> bool:
        """c(ont(inue))
        Leaves the debugger; the program goes on.
        """
        return True

    def do_quit(self, arg: str) -> None:
        """q(uit), exit
        Ends the program.
        """
        sys.exit(0)

    def do_help(self, arg: str) -> None:
        """h(elp) [command]
        Lists the commands, or describes a command.
        """
        text = getattr(getattr(self, f"do_{arg}", None), "__doc__", None)
        if arg and text:
            self.write(inspect.cleandoc(text))
        else:
            super().do_help(arg)

    do_l = do_list
    do_u = do_up
    do_d = do_down
    do_w = do_bt = do_where
    do_c = do_cont = do_continue
    do_q = do_exit = do_EOF = do_quit
    do_h = do_help
