# SPDX-License-Identifier: Apache-2.0
"""Trace state, compile-time values, monitoring events, and user contexts."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_ir import ShapedArray, lax
from olympus_ir.adapters import mapped_types, trace_state
from olympus_ir.diagnostics import monitoring
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import eval_shape, make_olympuspr
from olympus_ir.programs.staging import StagingTrace
from olympus_ir.programs.tracing import Tracer, ensure_compile_time_eval, evaluation_trace
from olympus_ir.settings.config import config
from olympus_ir.settings.user_contexts import make_user_context
from olympus_ir.types.shape_struct import ShapeDtypeStruct


def test_states_are_equal_within_one_trace():
    outside = trace_state.get_opaque_trace_state()
    assert outside == trace_state.get_opaque_trace_state()
    seen = []

    def fun(x):
        seen.append(trace_state.get_opaque_trace_state())
        assert seen[-1] == trace_state.get_opaque_trace_state()
        assert not trace_state.trace_state_clean() and trace_state.am_i_under_a_trace()
        with trace_state.eval_context():
            assert trace_state.trace_state_clean()
        return x

    make_olympuspr(fun)(1.0)
    assert seen[0] != outside and trace_state.trace_state_clean()
    assert not trace_state.am_i_under_a_vmap() and trace_state.axis_names() == []


def test_traces_can_be_taken_and_set():
    trace = StagingTrace()
    with trace_state.set_current_trace(trace):
        assert trace_state.find_top_trace(()) is trace
        with trace_state.take_current_trace() as taken:
            assert taken is trace and trace_state.find_top_trace(()) is evaluation_trace
    assert trace.main is trace and trace.parent_trace is None
    trace.parent_trace = evaluation_trace
    assert trace.parent is evaluation_trace


def test_types_of_examples():
    aval = ShapedArray((3, 2), np.float32)
    assert mapped_types.mapped_aval(3, 0, aval) == ShapedArray((2,), np.float32)
    assert mapped_types.unmapped_aval(3, 0, ShapedArray((2,), np.float32)) == aval
    assert mapped_types.mapped_aval(3, None, aval) is aval
    with pytest.raises(ValueError, match="has size 3, not 4"):
        mapped_types.mapped_aval(4, 0, aval)


def test_ensure_compile_time_eval_evaluates_known_values():
    def fun(x):
        with ensure_compile_time_eval():
            known = lax.add(np.float32(1), np.float32(2))
            assert float(known) == 3
            return lax.add(x, known)

    program = make_olympuspr(fun)(1.0)
    assert [equation.primitive for equation in program.eqns] == [lax.add_p]
    assert eval_olympuspr(program.olympuspr, program.consts, 1.0) == [4]


def test_structs_are_operands_in_eval_shape():
    struct = ShapeDtypeStruct((3,), np.float32)
    assert eval_shape(lambda: struct) == struct
    assert eval_shape(lambda: lax.sin(struct)) == struct


def test_listeners_get_their_events():
    heard = []
    listeners = {
        "event": lambda event, **kwargs: heard.append((event, kwargs)),
        "event_duration": lambda event, duration, **_: heard.append((event, duration)),
        "event_time_span": lambda event, start, end, **_: heard.append((event, start, end)),
        "scalar": lambda event, value, **_: heard.append((event, value)),
    }
    monitoring.register_event_listener(listeners["event"])
    monitoring.register_event_duration_secs_listener(listeners["event_duration"])
    monitoring.register_event_time_span_listener(listeners["event_time_span"])
    monitoring.register_scalar_listener(listeners["scalar"])

    def record():
        monitoring.record_event("/a", kind="k")
        monitoring.record_event_duration_secs("/b", 1.5)
        monitoring.record_event_time_span("/c", 1.0, 2.0)
        monitoring.record_scalar("/d", 3)

    record()
    assert heard == [("/a", {"kind": "k"}), ("/b", 1.5), ("/c", 1.0, 2.0), ("/d", 3)]
    for kind, listener in listeners.items():
        getattr(monitoring, f"unregister_{kind}_listener")(listener)
    record()
    assert len(heard) == 4
    with pytest.raises(ValueError, match="not registered"):
        monitoring.unregister_event_listener(print)


def test_user_context_is_part_of_trace_key():
    context = make_user_context("train")
    factor = lambda: 1.0 if context.value == "train" else 2.0  # noqa: E731
    double = jit(lambda x: lax.mul(x, np.float32(factor())))
    assert double(np.float32(3)) == 3
    with context("evaluate"):
        assert double(np.float32(3)) == 6
    assert double(np.float32(3)) == 3
    context.set_global("evaluate")
    assert context.value == context.get_global() == "evaluate"


def test_flags_with_another_prefix(monkeypatch):
    monkeypatch.setattr(config, "_other_prefixes", ())
    monkeypatch.setenv("OTHER_DEBUG_NANS", "true")
    monkeypatch.setattr(config, "_environment", {})
    try:
        config.answer_to("other_")
        assert config.other_debug_nans is config.olympus_debug_nans is True
        config.update("other_debug_nans", False)
        assert config.read("olympus_debug_nans") is False
    finally:
        config.update("olympus_debug_nans", False)
    with pytest.raises(AttributeError, match="other_nothing"):
        config.read("other_nothing")


def test_user_defined_tracers_have_avals():
    class Own(Tracer):
        pass

    aval = ShapedArray((3,), np.float32)
    assert Own(evaluation_trace, aval).aval is aval and Own(evaluation_trace, aval).shape == (3,)
    with pytest.raises(TypeError, match="aval"):
        Own(evaluation_trace)  # type: ignore[call-arg]

    class Typeless(Tracer):
        def __init__(self, trace):
            self._trace = trace

    with pytest.raises(NotImplementedError, match="Typeless must define aval"):
        _ = Typeless(evaluation_trace).aval
