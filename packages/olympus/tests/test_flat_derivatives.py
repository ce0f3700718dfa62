# SPDX-License-Identifier: Apache-2.0
"""Derivatives of functions of flat trees, and traces that libraries make."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import P, lax
from olympus.core import Tracer
from olympus.extend.core import DebugInfo, Literal, TraceTag, Var
from olympus.interpreters import ad
from olympus.interpreters import partial_eval as pe
from olympus_ir.adapters.flat_trees import FlatTree
from olympus_ir.programs.tracing import current
from olympus_sharding.manual.primitive import shard_map_p


def test_linearize() -> None:
    def f(x, y):
        return {"moves": jnp.sin(x) * 2, "rests": y, "same": x}, "auxiliary"

    point = FlatTree.flatten((1.0, 2))
    results, is_zero, program, residuals, aux = ad.linearize(f, point, has_aux=True)
    assert results.unflatten().keys() == {"moves", "rests", "same"} and aux == "auxiliary"
    assert is_zero == [False, True, False]
    assert [var.aval.str_short() for var in program.invars] == ["float32[]", "float0[]"]
    tangent = np.zeros((), olympus.float0)
    moves, same = olympus.core.eval_olympuspr(program, residuals, 3.0, tangent)
    np.testing.assert_allclose(moves, 6 * np.cos(1.0), rtol=1e-6)
    assert same == 3.0
    assert len(ad.linearize(lax.sin, FlatTree.flatten((1.0,)), is_vjp=True)) == 4


def test_shard_map_under_a_trace_of_derivatives() -> None:
    mesh = olympus.make_mesh((1,), ("i",), axis_types=(olympus.sharding.AxisType.Auto,))
    trace = ad.JVPTrace(current.trace, TraceTag())
    x = np.arange(4.0, dtype=np.float32)

    def f(part):
        return FlatTree.flatten({"sine": jnp.sin(part)}).with_aux((P("i"),))

    results = trace.process_shard_map(
        shard_map_p,
        f,
        [ad.JVPTracer(trace, x, np.ones(4, np.float32))],
        mesh=mesh,
        in_specs=(P("i"),),
        check_vma=True,
        newly_manual_axes=frozenset("i"),
        debug_info=DebugInfo("shard_map", "f", ("part",), ("result",)),
    )
    sine = results.unflatten()["sine"]
    np.testing.assert_allclose(sine.primal, np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(sine.tangent, np.cos(x), rtol=1e-6)


def test_traces_with_one_tag_share_tracers() -> None:
    tag = TraceTag()
    first, second = ad.JVPTrace(current.trace, tag), ad.JVPTrace(current.trace, tag)
    other = ad.JVPTrace(current.trace, TraceTag())
    tracer = ad.JVPTracer(first, 2.0, 1.0)
    assert second.to_primal_tangent_pair(tracer) == (2.0, 1.0)
    assert other.to_primal_tangent_pair(tracer)[0] is tracer
    negative = second.process_primitive(lax.neg_p, (tracer,), {})
    assert (negative.primal, negative.tangent) == (-2.0, -1.0)


def test_tracers_of_a_program_that_libraries_make() -> None:
    trace = pe.DynamicOlympusprTrace(DebugInfo("test", "f", None, None), parent=current.trace)
    scalar = olympus.typeof(1.0)
    argument = trace.new_input(scalar)
    tracer = pe.DynamicOlympusprTracer(trace, scalar, argument.val)
    assert isinstance(tracer, Tracer) and tracer.val is argument.val and tracer.parent is None
    result = trace.process_primitive(lax.sin_p, (tracer,), {"accuracy": None})
    (equation,) = trace.equations
    assert equation.invars == [argument.val] and result.parent is equation
    made = pe.DynamicOlympusprTracer(trace, scalar, Var(scalar), None, equation)
    assert made.parent is equation
    with pytest.raises(TypeError, match="cannot stand for"):
        pe.DynamicOlympusprTracer(trace, olympus.typeof(1), Literal(1.0, scalar))
