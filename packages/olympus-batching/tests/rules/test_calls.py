# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np

from olympus_batching import BatchAxis, vmap
from olympus_batching.trace import BatchTrace
from olympus_ir import ShapedArray, lax, trace_to_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.programs.tracing import Trace, current

X = np.arange(6, dtype=np.float32).reshape(2, 3)
VECTOR = ShapedArray((3,), np.float32)


def traced(fun, *avals):
    return trace_to_olympuspr(lambda *args: [fun(*args)], list(avals))[0]


def test_batches_of_compiled_calls_equal_a_loop(check):
    check(jit(lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())))), X, X.T, rtol=1e-4)


def test_batched_program_of_jit_is_cached():
    fun = jit(lambda x, y: lax.mul(lax.sin(x), y))
    mapped = vmap(fun, in_axes=(0, None))
    first = traced(mapped, ShapedArray((4, 3), np.float32), VECTOR)
    second = traced(mapped, ShapedArray((4, 3), np.float32), VECTOR)
    (call,), (again,) = first.eqns, second.eqns
    assert call.primitive is lax.jit_p
    assert call.params["jaxpr"] is again.params["jaxpr"]


def test_jit_of_function_that_uses_axis():
    inner = jit(lambda: lax.axis_index("i"))
    np.testing.assert_array_equal(vmap(lambda x: inner(), axis_name="i")(X), [0, 1])


def test_jit_without_batched_operands_is_unchanged():
    inner = jit(lambda x: lax.sin(x))
    program = traced(
        lambda x, y: vmap(lambda x: lax.add(x, inner(y)))(x), VECTOR, VECTOR.update(shape=())
    )
    assert [each.primitive.name for each in program.eqns] == ["jit", "add"]
    assert program.eqns[0].params["jaxpr"].in_avals[0].shape == ()


def test_batches_of_closed_calls_equal_a_loop(check):
    program = trace_to_closed(lambda x, y: [lax.sub(x, y), y], [VECTOR, VECTOR])
    check(lambda x, y: lax.closed_call_p.bind(x, y, call_jaxpr=program), X[0], X[1])


def test_batches_of_checkpointed_calls_equal_a_loop(check):
    program = trace_to_closed(lambda x: [lax.sin(x), np.float32(1)], [VECTOR]).jaxpr
    options = {"prevent_cse": True, "differentiated": False, "policy": None}
    check(lambda x: lax.checkpoint_p.bind(x, jaxpr=program, **options), X[0])


def test_barriers_hold_batched_and_unbatched_values(check):
    check(lambda x, y: lax.optimization_barrier((x, y)), X, X[0])


def custom(trace, x, y):
    """A call of a function with a derivative rule, as differentiation makes it."""

    def fun(x, y):
        return [lax.mul(x, y), y]

    def jvp(x, y, x_dot, y_dot):
        return [*fun(x, y), lax.mul(x_dot, y), y_dot]

    return trace.process_custom_jvp_call(
        lax.custom_jvp_call_p, fun, jvp, (x, y), symbolic_zeros=False
    )


def test_custom_jvp_call(check):
    check(lambda x, y: custom(current.trace, x, y), X[0], X[1])


def test_custom_jvp_call_in_a_program(check):
    program = ClosedOlympuspr(
        *trace_to_olympuspr(lambda x, y: custom(current.trace, x, y), [VECTOR, VECTOR])
    )
    assert program.eqns[0].primitive is lax.custom_jvp_call_p
    check(lambda x, y: lax.closed_call_p.bind(x, y, call_jaxpr=program), X[0], X[1])


def test_rule_of_batched_custom_jvp_call():
    tangents_seen = []

    class Recorder(Trace):
        """Stand-in for an outer interpreter that uses the derivative rule."""

        def process_primitive(self, primitive, args, params):
            return primitive.bind_with_trace(self.parent, args, params)

        def process_custom_jvp_call(self, primitive, fun, jvp, args, **options):
            with_tangents = jvp(*args, *args)
            tangents_seen.extend(with_tangents[len(with_tangents) // 2 :])
            return with_tangents[: len(with_tangents) // 2]

    recorder = Recorder()
    recorder.parent = current.trace
    trace = BatchTrace(recorder, BatchAxis(2))
    x, y = trace.wrap([X, X[0]], [0, None])
    product, same = custom(trace, x, y)
    assert product.batch_dim == 0
    assert product.value.shape == (2, 3)
    assert same is y
    assert [np.shape(tangent) for tangent in tangents_seen] == [(2, 3), (3,)]
