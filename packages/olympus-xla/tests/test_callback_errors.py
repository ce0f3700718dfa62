# SPDX-License-Identifier: Apache-2.0
"""Exceptions of callbacks that are kept until a program on several devices has ended."""

import threading

import numpy as np
import pytest

from olympus_ir.lax import callbacks
from olympus_ir.programs.jit import jit
from olympus_ir.types.avals import ShapedArray
from olympus_xla._jaxlib import JaxRuntimeError
from olympus_xla.foreign.callback_errors import DeferredErrors

TYPES = [ShapedArray((2,), np.dtype(np.float32)), ShapedArray((), np.dtype(np.int32))]


def failing(*views):
    raise ValueError("not today")


def test_results_after_error_are_zeros():
    errors = DeferredErrors()
    calls = []
    fails = errors.guarding(failing, TYPES)
    works = errors.guarding(lambda: calls.append(1), TYPES)
    with pytest.raises(JaxRuntimeError, match="ValueError: not today"), errors.raised_at_end():
        works()
        for function in fails, works:
            first, second = function()
            np.testing.assert_array_equal(first, np.zeros(2, np.float32), strict=True)
            np.testing.assert_array_equal(second, np.zeros((), np.int32), strict=True)
    assert len(calls) == 1
    with errors.raised_at_end():
        works()
    assert len(calls) == 2


def test_runs_at_the_same_time_all_raise():
    errors = DeferredErrors()
    both, caught = threading.Barrier(2), []

    def run(function):
        try:
            with errors.raised_at_end():
                both.wait(10)
                errors.guarding(function, TYPES)()
                both.wait(10)
        except JaxRuntimeError as error:
            caught.append(error)

    threads = [threading.Thread(target=run, args=(f,)) for f in (failing, lambda: None)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(caught) == 2


def test_endless_loop_after_error(monkeypatch):
    monkeypatch.setattr(DeferredErrors, "MOST_SKIPPED", 10)
    errors = DeferredErrors()
    fails = errors.guarding(failing, TYPES)
    for _ in range(10):
        fails()
    with pytest.raises(JaxRuntimeError, match="not today"):
        fails()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("function", "logger", "call"),
    [
        ("pure_callback", "callback", lambda f, x: callbacks.pure_callback(f, x, x)),
        ("io_callback", "callback", lambda f, x: callbacks.io_callback(f, x, x)),
        ("debug.callback", "debugging", lambda f, x: [callbacks.debug_callback(f, x), x][1]),
    ],
)
def test_failures_of_users_functions_are_logged(caplog, compiled, function, logger, call):
    def failing(x):
        raise ArithmeticError("no result")

    def run(x):
        return call(failing, x)

    with pytest.raises((JaxRuntimeError, ArithmeticError)):
        np.asarray((jit(run) if compiled else run)(np.float32(1)))
        callbacks.effects_barrier()
    record = next(record for record in caplog.records if "failed" in record.getMessage())
    assert record.getMessage() == f"olympus.{function} failed"
    assert record.name.endswith(logger) and record.levelname == "ERROR"
    assert record.exc_info[0] is ArithmeticError
