# SPDX-License-Identifier: Apache-2.0
"""A debugger for traced programs. It shows the frames of a breakpoint with the values of a run."""

from .breakpoints import breakpoint, register_debugger
from .command_line import CommandLineDebugger
from .frames import DebuggerFrame

__all__ = ["CommandLineDebugger", "DebuggerFrame", "breakpoint", "register_debugger"]
