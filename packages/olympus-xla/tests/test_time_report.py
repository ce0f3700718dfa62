# SPDX-License-Identifier: Apache-2.0
"""Reports of compilation time, and progress on the terminal during compilation."""

import io
import time

import numpy as np

import olympus_xla
from olympus_ir import lax
from olympus_ir.diagnostics import phases
from olympus_ir.settings.config import config
from olympus_xla import jit
from olympus_xla.compiling import progress
from olympus_xla.compiling.time_report import time_report


def test_programs_are_listed_with_their_source():
    @jit
    def reported(x):
        return lax.sin(lax.add(x, x))

    before = time_report(show=False)
    reported(np.float32(1))
    reported(np.float32(2))
    after = time_report(show=False)
    (program,) = (each for each in after.programs if each.name == "jit(reported)")
    assert program is after.programs[-1]
    line = reported.__wrapped__.__code__.co_firstlineno
    assert program.source.endswith(f"test_time_report.py:{line}")
    assert program.equations == 2
    assert not program.from_disk
    assert after.traced == before.traced + 1
    for phase in ("tracing", "lowering", "compiling"):
        assert getattr(after, phase) > getattr(before, phase)
    assert program.seconds <= after.elapsed - before.elapsed


def test_executables_from_disk_are_listed_separately(tmp_path):
    flags = {
        "olympus_compilation_cache_dir": str(tmp_path),
        "olympus_persistent_cache_min_compile_time_secs": 0.0,
    }
    saved = {name: getattr(config, name) for name in flags}
    for name, value in flags.items():
        config.update(name, value)
    try:
        for from_disk in (False, True):
            jit(lambda x: lax.cos(x))(np.float32(1))
            assert time_report(show=False).programs[-1].from_disk == from_disk
            olympus_xla.clear_caches()
    finally:
        for name, value in saved.items():
            config.update(name, value)


def test_nested_phases_are_counted_once():
    before = dict(phases.seconds_spent)
    with phases.tracing("outer"), phases.compiling("inner"):
        time.sleep(0.05)
    spent = {name: phases.seconds_spent[name] - before[name] for name in before}
    assert spent["compiling"] >= 0.05
    assert spent["tracing"] < 0.05


def test_the_report_is_printed(capsys):
    report = time_report()
    printed = capsys.readouterr().out
    assert printed == f"{report}\n"
    assert "s compiling" in printed and "s of processor time" in printed


# ---- the line on the terminal ----


class Terminal(io.StringIO):
    def isatty(self):
        return True


def show_on_terminal(monkeypatch):
    """Not a fixture: pytest sets stderr anew before it calls the test."""
    written = Terminal()
    monkeypatch.setattr("sys.stderr", written)
    monkeypatch.setattr(progress, "_SHOWN_AFTER", 0.0)
    monkeypatch.setattr(progress, "_REFRESHED_EVERY", 0.01)
    return written


def wait_for(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_long_compilation(monkeypatch):
    terminal = show_on_terminal(monkeypatch)
    with progress.shown("jit(step)", 1234):
        wait_for(lambda: "compiling jit(step) of 1,234 equations: 0 s" in terminal.getvalue())
    wait_for(lambda: terminal.getvalue().endswith("\r\x1b[K"))


def test_progress_is_hidden_without_a_terminal(monkeypatch):
    terminal = show_on_terminal(monkeypatch)
    config.update("olympus_show_compilation", False)
    try:
        with progress.shown("jit(step)", 1):
            assert not progress._running
    finally:
        config.update("olympus_show_compilation", True)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with progress.shown("jit(step)", 1):
        assert not progress._running
    assert terminal.getvalue() == ""
