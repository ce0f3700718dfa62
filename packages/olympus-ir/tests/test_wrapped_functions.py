# SPDX-License-Identifier: Apache-2.0
"""Functions with transformations around them, partial evaluation, and hand-made programs."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_ir import ShapedArray, lax
from olympus_ir.adapters import construction as c
from olympus_ir.adapters import wrapped_functions as w
from olympus_ir.adapters.partial_evaluation import (
    PartialVal,
    trace_to_olympuspr_dynamic,
    trace_to_olympuspr_nounits,
)
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import debug_info

F32 = ShapedArray((), np.float32)


def wrapped(fun, *args):
    return w.wrap_init(fun, debug_info=debug_info("test", fun, args, {}))


def test_transformations_apply_from_the_outside_in():
    @w.transformation
    def doubled(*args):
        out = yield [2 * arg for arg in args], {}
        yield out + 1

    @w.transformation_with_aux
    def counted(*args):
        out = yield args, {}
        yield out, len(args)

    fun, count = counted(doubled(wrapped(lambda x, y: x + y, 1, 2)))
    with pytest.raises(w.StoreException, match="not been called"):
        count()
    assert fun.call_wrapped(1, 2) == 7 and count() == 2
    with pytest.raises(w.StoreException, match="called twice"):
        fun.call_wrapped(1, 2)


def test_plain_transformations_get_the_inner_function():
    @w.transformation2
    def negated(inner, sign, *args):
        return sign * inner(*args)

    fun = negated(wrapped(abs, 1), -1)
    assert fun.call_wrapped(-3) == -3
    assert fun == negated(wrapped(abs, 1), -1) and hash(fun) == hash(negated(wrapped(abs, 1), -1))


def test_flat_functions_remember_their_structures():
    args = ({"a": 1, "b": 2},)
    leaves, tree = pytrees.tree_flatten((args, {}))
    flat, out_tree = w.flatten_fun(wrapped(lambda d: (d["a"], [d["b"]]), *args), tree)
    assert flat.call_wrapped(*leaves) == [1, 2]
    assert out_tree() == pytrees.tree_structure((1, [2]))
    flat, out_tree = w.flatten_fun_nokwargs(
        wrapped(lambda d: d["b"], *args), pytrees.tree_structure(args)
    )
    assert flat.call_wrapped(3, 4) == [4] and out_tree() == pytrees.tree_structure(0)


def test_merge_linear_aux_returns_the_filled_store():
    full, vacant = w.Store(), w.Store()
    full.store(5)
    assert w.merge_linear_aux(lambda: full.val, lambda: vacant.val) == (True, 5)
    assert w.merge_linear_aux(lambda: vacant.val, lambda: full.val) == (False, 5)
    with pytest.raises(w.StoreException, match="neither"):
        w.merge_linear_aux(lambda: vacant.val, lambda: vacant.val)


def test_results_of_equal_functions_are_kept():
    calls = []
    cached = w.cache(lambda fun, *static: calls.append(static) or fun.call_wrapped(2))
    assert cached(wrapped(abs, 1), 1) == cached(wrapped(abs, 1), 1) == 2
    assert calls == [(1,)]


def test_equations_of_known_values_are_evaluated():
    inner = jit(lambda a, b: (lax.add(a, a), lax.add(b, b)))

    def fun(x, y):
        doubled_x, doubled_y = inner(x, y)
        return [lax.sin(x), lax.cos(y), doubled_x, doubled_y]

    operands = [PartialVal.unknown(F32), PartialVal.known(np.float32(2))]
    program, results, consts = trace_to_olympuspr_nounits(wrapped(fun, 1.0, 2.0), operands)
    assert [result.is_known() for result in results] == [False, True, False, True]
    np.testing.assert_allclose(results[1].get_known(), np.cos(np.float32(2)))
    assert len(program.invars) == 1 and consts == ()
    assert str(program) == "{ lambda ; a:f32[]. let b:f32[] = add a a; c:f32[] = sin a in (c, b) }"
    _, results, _ = trace_to_olympuspr_nounits(wrapped(fun, 1.0, 2.0), operands, True)
    assert not any(result.is_known() for result in results)


def test_programs_of_wrapped_functions():
    program, avals, consts = trace_to_olympuspr_dynamic(wrapped(lambda x: [lax.sin(x)], 1.0), [F32])
    assert (avals, consts) == ([F32], [])
    equation = program.eqns[0]
    variable = c.gensym()(F32)
    again = c.new_olympuspr_eqn(
        equation.invars, [variable], lax.cos_p, dict(equation.params), set()
    )
    changed = program.replace(eqns=[again], outvars=[variable])
    assert str(changed) == "{ lambda ; a:f32[]. let b:f32[] = cos a in (b,) }"
    assert c.olympuspr_as_fun(make_olympuspr(lax.neg)(1.0), 2.0) == [-2]
    assert c.olympuspr_as_fun(make_olympuspr(lax.neg)(1.0))(2.0) == [-2]


def test_calls_of_programs():
    program = make_olympuspr(lambda x: lax.mul(lax.sin(x), x))(1.0).jaxpr
    fun = lambda x: c.call_p.bind(x, call_jaxpr=program)[0]  # noqa: E731
    np.testing.assert_allclose(fun(np.float32(2)), 2 * np.sin(np.float32(2)))
    assert "call[" in str(make_olympuspr(fun)(1.0))


def test_argnums_partial_donation_and_flattening():
    fun, left = c.argnums_partial(wrapped(lambda x, y, z: (x, y, z), 1, 2, 3), (1,), (1, 2, 3))
    assert left == (2,) and fun.call_wrapped(9) == (1, 9, 3)
    with pytest.raises(ValueError, match="not hashable"):
        c.argnums_partial(wrapped(abs, 1), (1,), ([], 2))
    tree = pytrees.tree_structure((({"a": 1, "b": 2}, 3), {"k": 4}))
    assert c.donation_vector((0,), ("k",), tree) == (True, True, False, True)
    assert c.rebase_donate_argnums((2,), (0,)) == (1,)
    with pytest.raises(ValueError, match="are static"):
        c.rebase_donate_argnums((0,), (0,))
    tree = pytrees.tree_structure(({"a": 1, "b": 2}, 3))
    assert c.flatten_axes("axes", tree, (0, None)) == [0, 0, None]
    with pytest.raises(ValueError, match="axes specification must be a tree prefix"):
        c.flatten_axes("axes", tree, (0, {}))
