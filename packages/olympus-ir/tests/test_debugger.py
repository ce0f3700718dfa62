# SPDX-License-Identifier: Apache-2.0
"""The debugger of traced programs, at a command line that is a string."""

from __future__ import annotations

import io
import pathlib

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.debugger import breakpoint, register_debugger
from olympus_ir.debugger.breakpoints import _debuggers
from olympus_ir.lax.callbacks import effects_barrier
from olympus_ir.programs.jit import jit

SCALE = 3


def answers(fun, *args, commands):
    """Returns the debugger's output after each command, and the function's result."""
    stdout = io.StringIO()
    result = fun(*args, {"stdin": io.StringIO("\n".join([*commands, ""])), "stdout": stdout})
    effects_barrier()
    greeting, *replies = stdout.getvalue().split("(jdb) ")
    assert greeting == "Entering jdb:\n"
    return [reply.removesuffix("\n") for reply in replies], result


def stopping(x, options):
    pair = {"sum": lax.add(x, 1.0), "name": "first"}
    breakpoint(**options)
    return pair["sum"]


def compiled(x, options):
    def inner(y):
        doubled = lax.mul(y, 2.0)
        breakpoint(**options)
        return doubled

    return jit(lambda x: inner(lax.add(x, 1.0)))(x)


def test_values_of_expressions():
    commands = ["p x", "pair['sum']", "pp pair", "p SCALE * 2", "p", "c"]
    replies, result = answers(stopping, 2.0, commands=commands)
    assert replies[0] == "2.0"
    assert replies[1].startswith("Array(3.")
    assert "'name': 'first'" in replies[2]
    assert replies[3] == "6"
    assert replies[4].startswith("*** SyntaxError")
    assert float(result) == 3.0


def test_values_of_a_compiled_function():
    replies, result = answers(compiled, 2.0, commands=["p y", "p doubled", "u", "p x", "c"])
    assert replies[0].startswith("Array(3., dtype=float32")
    assert replies[1].startswith("Array(6., dtype=float32")
    assert replies[2].startswith(f"> {__file__}")
    assert replies[3].startswith("Array(2., dtype=float32")
    assert float(result) == 6.0


def test_errors_are_printed():
    replies, _ = answers(stopping, 2.0, commands=["p nothing", "p 1 / 0", "p (", "c"])
    assert replies[0] == "*** NameError: name 'nothing' is not defined"
    assert replies[1] == "*** ZeroDivisionError: division by zero"
    assert replies[2].startswith("*** SyntaxError: '(' was never closed")


def test_source_of_frames():
    replies, _ = answers(compiled, 2.0, commands=["l", "u", "d", "d", "c"])
    lines = replies[0].split("\n")
    number = 1 + pathlib.Path(__file__).read_text().split("\n").index(
        "        breakpoint(**options)"
    )
    assert lines == [
        f"> {__file__}({number})",
        "        def inner(y):",
        "            doubled = lax.mul(y, 2.0)",
        "->          breakpoint(**options)",
        "            return doubled",
        "    ",
    ]
    assert "->      return jit(lambda x: inner(lax.add(x, 1.0)))(x)" in replies[1]
    assert replies[2] == replies[0]
    assert replies[3] == "At bottommost frame.\n" + replies[0]


def test_stack_of_frames():
    replies, _ = answers(compiled, 2.0, commands=["bt", "w", "where", "c"])
    assert replies[0] == replies[1] == replies[2]
    lines = replies[0].split("\n")
    assert lines[0] == "Traceback:"
    assert lines[-1] == "    breakpoint(**options)"
    assert lines[-3] == "    return jit(lambda x: inner(lax.add(x, 1.0)))(x)"
    assert not any("olympus_ir/programs/" in line for line in lines)


def test_number_and_kind_of_frames():
    def few(x, options):
        return stopping(x, {**options, "num_frames": 2})

    replies, _ = answers(few, 2.0, commands=["bt", "u", "u", "c"])
    assert replies[0].count("  File ") == 2
    assert replies[2].startswith("At topmost frame.")

    def all_frames(x, options):
        return compiled(x, {**options, "filter_frames": False})

    replies, _ = answers(all_frames, 2.0, commands=["bt", "c"])
    assert "olympus_ir/programs/" in replies[0]


def test_locals_show_values_of_the_run():
    replies, _ = answers(compiled, 2.0, commands=["locals", "c"])
    lines = replies[0].split("\n")
    assert lines[0].startswith("y = Array(3., dtype=float32")
    assert lines[1].startswith("doubled = Array(6., dtype=float32")


def test_empty_line_repeats():
    replies, _ = answers(stopping, 2.0, commands=["p x", "", "cont"])
    assert replies[:2] == ["2.0", "2.0"]


def test_help_lists_and_describes_commands():
    replies, _ = answers(stopping, 2.0, commands=["help", "h pp", "?", "continue"])
    assert "Documented commands" in replies[0]
    assert replies[1].startswith("pp expression\nPrints the value")
    assert replies[2] == replies[0]


@pytest.mark.parametrize("command", ["q", "quit", "exit", "p x"])
def test_quitting_ends_the_program(command):
    """So does the end of the input."""
    with pytest.raises(SystemExit):
        answers(stopping, 2.0, commands=[command])


def test_token_is_returned_when_debugger_is_closed():
    def with_token(x, options):
        def inner(x):
            return breakpoint(token={"value": lax.mul(x, 2.0), "flag": True}, **options)

        return jit(inner)(x)

    replies, result = answers(with_token, np.float32(2), commands=["p x", "c"])
    assert replies[0] == "Array(2., dtype=float32)"
    assert float(result["value"]) == 4.0 and bool(result["flag"])


def test_registered_debuggers_open():
    opened = []
    register_debugger("test", lambda frames, **options: opened.append((frames, options)), -5)
    try:
        breakpoint(backend="test", color="red")
        effects_barrier()
        ((frames, options),) = opened
        assert frames[0].filename == __file__ and options == {"color": "red"}
        assert frames[0].line == 'breakpoint(backend="test", color="red")'
        with pytest.raises(ValueError, match="registered already"):
            register_debugger("test", print, 0)
    finally:
        del _debuggers["test"]


def test_invalid_arguments_raise():
    with pytest.raises(ValueError, match="mutually exclusive"):
        breakpoint(ordered=True, token=1.0)
    with pytest.raises(ValueError, match="no debugger named 'web'; registered are 'cli'"):
        breakpoint(backend="web")
