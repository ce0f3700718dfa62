# SPDX-License-Identifier: Apache-2.0
"""Events and log messages of compilations."""

import contextlib
import logging
import sys

import numpy as np
import pytest

import olympus_xla
from olympus_ir import lax
from olympus_ir.diagnostics import monitoring, phases
from olympus_ir.settings import config
from olympus_xla import jit
from olympus_xla.platforms.environment_info import print_environment_info

PHASES = [
    "/jax/core/compile/jaxpr_trace_duration",
    "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "/jax/core/compile/backend_compile_duration",
]


@contextlib.contextmanager
def durations():
    found = []

    def listener(event, seconds, **details):
        assert seconds >= 0
        found.append((event, details.get("fun_name")))

    monitoring.register_event_duration_secs_listener(listener)
    try:
        yield found
    finally:
        monitoring.unregister_event_duration_listener(listener)


def test_phases_of_a_compilation_are_events():
    @jit
    def inner(x):
        return lax.sin(x)

    @jit
    def doubled(x):
        return lax.add(inner(x), x)

    with durations() as found:
        doubled(np.float32(1))
        doubled(np.float32(2))
    assert found == list(zip(PHASES, ["doubled", "jit(doubled)", "jit(doubled)"], strict=True))


def test_failed_phases_are_reported():
    @jit
    def fails(x):
        raise ZeroDivisionError

    with durations() as found, pytest.raises(ZeroDivisionError):
        fails(1.0)
    assert found == [(PHASES[0], "fails")]


def test_listeners_of_scalars_and_spans_are_called():
    scalars, spans = [], []

    def on_scalar(event, value, fun_name):
        scalars.append((event, fun_name))

    def on_span(event, started, ended, fun_name):
        assert started <= ended
        spans.append((event, fun_name))

    monitoring.register_scalar_listener(on_scalar)
    monitoring.register_event_time_span_listener(on_span)
    with phases.tracing("f"):
        pass
    monitoring.unregister_scalar_listener(on_scalar)
    monitoring.unregister_event_time_span_listener(on_span)
    assert scalars == spans == [(PHASES[0], "f")]


def messages(caplog, level=logging.WARNING):
    return [record.getMessage() for record in caplog.records if record.levelno >= level]


def test_compilations_are_logged(caplog):
    with config.log_compiles(True):
        jit(lambda x: lax.cos(x), keep_unused=True)(np.ones((2, 3), np.float32))
    told = messages(caplog)
    assert [text.rpartition(" in ")[0] or text for text in told] == [
        "Finished tracing <lambda> for jit",
        told[1],
        "Finished jaxpr to MLIR module conversion jit(<lambda>)",
        "Finished XLA compilation of jit(<lambda>)",
    ]
    assert told[1].startswith("Compiling jit(<lambda>) with global shapes and types (")
    assert "float32[2,3]" in told[1]
    caplog.clear()
    jit(lambda x: lax.cos(x))(1.0)
    assert not messages(caplog)


def explained(caplog, function, *calls):
    with config.explain_cache_misses(True):
        for args, kwargs in calls:
            caplog.clear()
            function(*args, **kwargs)
    (text,) = messages(caplog)
    return text


def test_first_call_of_a_function_is_explained(caplog):
    def seen(x):
        return x

    text = explained(caplog, jit(seen), ((1.0,), {}))
    assert text.startswith("TRACING CACHE MISS at ")
    assert "never seen function:\n    seen id=" in text and __file__ in text
    for _ in range(2):
        text = explained(caplog, jit(lambda x: x), ((1.0,), {}))
    assert "seen another function defined on the same line" in text


@pytest.mark.parametrize(
    "first, second, difference",
    [
        ((np.ones(2, "f4"),), (np.ones(3, "f4"),), "at x, now f32[3] and before"),
        ((np.float32(1),), (1.0,), "at x, now f32[]{weak_type=True} and before f32[]"),
        ((1.0,), ((1.0, 2.0),), "different input pytree:"),
        ((1.0,), (1.0, 2.0), "different input pytree:"),
    ],
)
def test_explanations_name_the_difference_from_earlier_calls(caplog, first, second, difference):
    def function(x, y=0.0):
        return y

    text = explained(caplog, jit(function), (first, {}), (second, {}))
    assert "for function defined at" in text
    assert difference in text


def test_settings_and_static_arguments_that_differ(caplog):
    def function(x, n):
        return x

    jitted = jit(function, static_argnums=1)
    text = explained(caplog, jitted, ((1.0, 2), {}), ((1.0, 3), {}))
    assert "different static arguments" in text
    with config.explain_cache_misses(True), config.default_matmul_precision("highest"):
        caplog.clear()
        jitted(1.0, 3)
    (text,) = messages(caplog)
    assert "Tracing context doesn't match" in text and "default_matmul_precision" in text


def test_environment_info_lists_versions_and_variables(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS_FOR_A_TEST", "1")
    text = print_environment_info(return_string=True)
    assert f"numpy:  {np.__version__}" in text
    assert f"python: {' '.join(sys.version.splitlines())}" in text
    assert f"device info: {olympus_xla.devices()[0].device_kind}-" in text
    assert "XLA_FLAGS_FOR_A_TEST=1" in text


def test_types_that_differ(caplog):
    def function(x):
        return x

    jitted = jit(function)
    text = explained(caplog, jitted, ((np.float32(1),), {}), ((np.int32(1),), {}))
    assert "at x, now i32[] and before f32[]" in text
    jitted = jit(lambda x: x)
    text = explained(caplog, jitted, ((np.float32(1),), {}), ((1.0,), {}))
    assert "now f32[]{weak_type=True} and before f32[]{weak_type=False}" in text
    jitted = jit(lambda x: x)
    text = explained(caplog, jitted, ((1.0,), {}), ((np.ones(3, "f4"),), {}))
    assert "now f32[3]{weak_type=False} and before f32[]{weak_type=True}" in text
