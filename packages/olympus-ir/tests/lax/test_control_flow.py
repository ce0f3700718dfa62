# SPDX-License-Identifier: Apache-2.0
"""Control flow: results, programs, messages. Texts of programs are compared in test_printer.py."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_ir import Array, ShapedArray, lax, trace_to_olympuspr
from olympus_ir.diagnostics.errors import ConcretizationTypeError
from olympus_ir.lax.control_flow import associative, scanning
from olympus_ir.programs.checker import check_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.settings.config import disable_jit
from olympus_ir.trees.pytrees import register_pytree_node, tree_leaves

VECTOR = np.arange(3, dtype=np.float32)
F32 = ShapedArray((), np.float32)


class Parameter:
    """A pytree that can be called, as layers can."""

    def __init__(self, value):
        self.value = value

    def __call__(self, x):
        return x


register_pytree_node(
    Parameter, lambda node: ((node.value,), None), lambda _, leaf: Parameter(*leaf)
)


@pytest.fixture(params=["operation", "program", "python"])
def run(request):
    """Calls a function eagerly, compiled, or with `disable_jit`."""

    def call(fun, *args):
        if request.param == "python":
            with disable_jit():
                return fun(*args)
        if request.param == "operation":
            return fun(*args)  # values that the operation does not change pass as they are
        check_olympuspr(make_olympuspr(fun)(*args))
        result = jit(fun)(*args)
        assert all(isinstance(leaf, Array) for leaf in tree_leaves(result))
        return result

    return call


def check(actual, expected):
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=1e-6)


class TestCond:
    @pytest.mark.parametrize("pred", [True, False])
    def test_one_function_is_applied(self, run, pred):
        def fun(pred, x):
            return lax.cond(pred, lambda x: lax.add(x, 1.0), lambda x: lax.neg(x), x)

        check(run(fun, pred, 2.0), 3.0 if pred else -2.0)

    def test_only_the_chosen_function_is_run(self):
        ran = []

        def note(name):
            return lambda x: lax.debug_callback(lambda _: ran.append(name), x) or x

        jit(lambda pred: lax.cond(pred, note("true"), note("false"), 1.0))(False)
        assert ran == ["false"]

    @pytest.mark.parametrize("pred", [2, 0.5, np.float32(3), np.array(1)])
    def test_numbers_are_compared_with_zero(self, pred):
        check(lax.cond(pred, lambda: 1.0, lambda: 2.0), 1.0)
        check(lax.cond(pred * 0, lambda: 1.0, lambda: 2.0), 2.0)

    def test_operands_are_given_in_several_forms(self, run):
        add, sub = lax.add, lax.sub
        check(run(lambda: lax.cond(True, add, sub, 5.0, 3.0)), 8.0)
        check(run(lambda: lax.cond(True, lambda x: add(*x), lambda x: sub(*x), (5.0, 3.0))), 8.0)
        check(run(lambda: lax.cond(False, lax.sin, lax.neg, operand=5.0)), -5.0)
        check(run(lambda: lax.cond(False, 5.0, lax.sin, 3.0, lax.neg)), -3.0)
        check(run(lambda: lax.cond(False, lambda x: 1.0, lambda x: 2.0, operand=None)), 2.0)
        with pytest.raises(TypeError, match="if 'operand' keyword is passed"):
            lax.cond(True, lax.sin, lax.cos, 1.0, operand=1.0)

    def test_operands_may_be_callable(self):
        def first(left, right):
            return left.value

        def second(left, right):
            return right.value

        left, right = Parameter(VECTOR), Parameter(VECTOR + 1)
        np.testing.assert_array_equal(lax.cond(True, first, second, left, right), VECTOR)
        np.testing.assert_array_equal(lax.cond(False, first, second, left, right), VECTOR + 1)
        # The other order, in which each function has an operand of its own.
        other = lax.cond(False, VECTOR, lax.neg, right, lambda right: right.value)
        np.testing.assert_array_equal(other, VECTOR + 1)

    def test_branches_return_pytrees(self, run):
        def fun(pred):
            return lax.cond(pred, lambda: {"a": (1.0, VECTOR)}, lambda: {"a": (2.0, -VECTOR)})

        result = run(fun, False)
        check(result["a"][0], 2.0)
        check(result["a"][1], -VECTOR)

    def test_branches_close_over_values(self, run):
        def fun(x, y):
            big = np.full(3, 10.0, np.float32)
            return lax.cond(
                lax.lt(x, 3.0), lambda: lax.mul(y, big), lambda: lax.add(lax.mul(x, big), y)
            )

        check(run(fun, np.float32(1), VECTOR), VECTOR * 10)
        check(run(fun, np.float32(5), VECTOR), 50 + VECTOR)

    @pytest.mark.parametrize(
        ("pred", "message"),
        [
            (np.array([True]), r"Pred must be a scalar, got \[ ?True\] of shape \(1,\)"),
            ("yes", "Pred must be a scalar, got yes of type <class 'str'>"),
            ((True,), "Pred must be a scalar, got .* of type <class 'tuple'>"),
            (None, "cond predicate is None"),
        ],
    )
    def test_invalid_predicates_raise(self, pred, message):
        with pytest.raises(TypeError, match=message):
            lax.cond(pred, lambda: 1, lambda: 2)

    def test_branches_that_are_no_functions_raise(self):
        with pytest.raises(TypeError, match="true_fun and false_fun arguments should be callable"):
            lax.cond(True, 1.0, lambda: 2)

    def test_branch_type_mismatch_raises(self):
        with pytest.raises(TypeError) as error:
            lax.cond(True, lambda x: x, lambda x: 1, 2.0)
        message = str(error.value)
        assert message.startswith("cond branches must have equal output types but they differ.")
        assert "true_fun is <lambda> at " in message
        assert "test_control_flow.py" in message
        assert (
            "The output of true_fun has type float32[] but the corresponding output of false_fun "
            "has type int32[], so the dtypes do not match." in message
        )

    def test_all_type_mismatches_are_listed(self):
        with pytest.raises(
            TypeError,
            match=r"  \* the output of true_fun at path \[0\] has type .*the dtypes do not match;\n"
            r"  \* the output of true_fun at path \[1\] has type .*the shapes do not match\.\n",
        ):
            lax.cond(True, lambda: (1, VECTOR), lambda: (1.0, 2.0))

    def test_branch_structure_mismatch_raises(self):
        with pytest.raises(
            TypeError,
            match=r"cond branch outputs must have the same pytree structure(.|\n)*"
            r"true_fun output at path \['b'\] is a tuple of length 2 but false_fun output at path "
            r"\['b'\] is a tuple of length 3, so the lengths do not match\.",
        ):
            lax.cond(True, lambda: {"a": 1, "b": (1, 2)}, lambda: {"a": 1, "b": (1, 2, 3)})


class TestSwitch:
    @pytest.mark.parametrize(("index", "expected"), [(-5, 1), (0, 1), (1, 2), (2, 3), (9, 3)])
    def test_switch_clamps_the_index(self, run, index, expected):
        def fun(i):
            return lax.switch(i, [lambda x: x, lambda x: lax.add(x, 1.0), lambda x: 3.0], 1.0)

        check(run(fun, index), expected)

    def test_switch_with_one_branch_is_a_call(self):
        closed = make_olympuspr(lambda i: lax.switch(i, [lax.sin], 1.0))(3)
        assert [equation.primitive for equation in closed.eqns] == [lax.sin_p]

    @pytest.mark.parametrize(
        ("index", "branches", "error", "message"),
        [
            (1.0, [len, len], TypeError, "Index type must be an integer, got 1.0 as float32"),
            (True, [len, len], TypeError, "Index type must be an integer"),
            (np.array([1]), [len, len], TypeError, r"must be scalar, got \[1\] of shape \(1,\)"),
            (1, [], ValueError, "Empty branch sequence"),
            (1, [1, 2], TypeError, "sequence of callables"),
        ],
    )
    def test_invalid_arguments_raise(self, index, branches, error, message):
        with pytest.raises(error, match=message):
            lax.switch(index, branches)

    def test_branches_are_compared_with_the_first(self):
        with pytest.raises(TypeError, match=r"output of branch 0 has type .*output of branch2"):
            lax.switch(0, [lambda: 1.0, lambda: 2.0, lambda: 3])


class TestWhileLoop:
    def test_runs_while_the_condition_holds(self, run):
        def fun(n):
            return lax.while_loop(lambda n: lax.lt(n, 100), lambda n: lax.mul(n, 2), n)

        check(run(fun, 3), 192)
        check(run(fun, 300), 300)

    def test_while_loops_carry_pytrees(self, run):
        def fun(n):
            return lax.while_loop(
                lambda c: lax.lt(c["i"], n),
                lambda c: {"i": lax.add(c["i"], 1), "x": (lax.mul(c["x"][0], 2.0),)},
                {"i": 0, "x": (VECTOR,)},
            )

        result = run(fun, 3)
        check(result["i"], 3)
        check(result["x"][0], VECTOR * 8)

    def test_unchanged_parts_of_the_carry(self, run):
        def fun(x):
            return lax.while_loop(
                lambda c: lax.lt(c[0], 3.0), lambda c: (lax.add(c[0], 1.0), c[1]), (0.0, x)
            )

        count, x = run(fun, VECTOR)
        check(count, 3.0)
        np.testing.assert_array_equal(np.asarray(x), VECTOR)

    def test_scalars_take_the_dtype_of_the_result(self):
        def fun(x):
            return lax.while_loop(lambda c: False, lambda c: x, 0)

        check(jit(fun)(np.float32(2)), 0.0)
        assert jit(fun)(np.float32(2)).dtype == np.float32

    @pytest.mark.parametrize(
        ("cond_fun", "message"),
        [
            (lambda c: c, r"boolean scalar, but got output type\(s\) \[ShapedArray\(float32\[\]"),
            (lambda c: (lax.lt(c, 2.0),), r"boolean scalar, but got pytree PyTreeDef\(\(\*,\)\)"),
            (lambda c: lax.lt(VECTOR, 2.0), "boolean scalar, but got output type"),
        ],
    )
    def test_invalid_conditions_raise(self, cond_fun, message):
        with pytest.raises(TypeError, match=f"cond_fun must return a {message}"):
            lax.while_loop(cond_fun, lambda c: c, np.float32(0))

    def test_invalid_bodies_raise(self):
        def below(c):
            return True

        with pytest.raises(
            TypeError, match=r"input carry value has type float32.*shapes do not ma"
        ):
            lax.while_loop(below, lambda value: VECTOR, np.float32(0))
        with pytest.raises(TypeError, match=r"carry component c\[1\] is a tuple of length 2 but"):
            lax.while_loop(below, lambda c: (c[0], (1, 2, 3)), (1, (2, 3)))
        with pytest.raises(TypeError, match="should be callable"):
            lax.while_loop(below, 1, 0)


class TestForiLoop:
    def test_fori_loop_counts_from_the_lower_bound(self, run):
        def fun():
            return lax.fori_loop(2, 6, lambda i, total: lax.add(total, i), 0)

        check(run(fun), 14)

    def test_empty_range_returns_the_initial_value(self, run):
        check(run(lambda: lax.fori_loop(5, 2, lambda i, x: lax.mul(x, 2.0), 3.0)), 3.0)

    def test_bounds_may_be_traced(self):
        def fun(n):
            return lax.fori_loop(0, n, lambda i, total: lax.add(total, i), 0)

        check(jit(fun)(5), 10)
        closed = make_olympuspr(fun)(5)
        assert [equation.primitive for equation in closed.eqns] == [lax.while_p]

    def test_constant_bounds_become_scan(self):
        closed = make_olympuspr(lambda x: lax.fori_loop(0, 3, lambda i, x: lax.sin(x), x))(1.0)
        (equation,) = closed.eqns
        assert equation.primitive is lax.scan_p
        assert equation.params["length"] == 3

    def test_unsuitable_bounds_raise(self):
        def body(i, x):
            return x

        with pytest.raises(TypeError, match="must have equal types, got int32 and float32"):
            lax.fori_loop(0, 3.0, body, 0)
        with pytest.raises(ValueError, match="Can only use `unroll` in `fori_loop`"):
            jit(lambda n: lax.fori_loop(0, n, body, 0, unroll=2))(3)
        with pytest.raises(TypeError, match="body_fun argument should be callable"):
            lax.fori_loop(0, 3, 3, 0)
        with pytest.raises(TypeError, match=r"component loop_carry\[1\] is a pytree leaf but"):
            lax.fori_loop(0, 3, lambda i, x: (x, x), 0)


class TestScan:
    def test_weak_bound_takes_dtype_of_other(self):
        def count(n):
            return lax.fori_loop(np.int8(1), n, lambda i, total: lax.add(total, i), np.int8(0))

        assert int(jit(count)(4)) == 6
        with pytest.raises(TypeError, match="must have equal types, got int8 and int16"):
            jit(count)(np.int16(4))

    def test_bounds_may_be_floats(self):
        def count(n):
            return lax.fori_loop(0.5, n, lambda i, total: lax.add(total, i), 0.0)

        assert float(jit(count)(3.0)) == 0.5 + 1.5 + 2.5

    def test_carry_and_results(self, run):
        def fun(xs):
            return lax.scan(lambda c, x: (lax.add(c, x), lax.mul(c, x)), np.float32(1), xs)

        carry, ys = run(fun, VECTOR)
        check(carry, 4.0)
        check(ys, [0.0, 1.0, 4.0])

    def test_reversed_scans_start_at_the_end(self, run):
        def fun(xs):
            return lax.scan(lambda c, x: (lax.add(c, x), c), np.float32(0), xs, reverse=True)

        carry, ys = run(fun, VECTOR)
        check(carry, 3.0)
        check(ys, [3.0, 2.0, 0.0])

    def test_scans_may_lack_slices(self, run):
        def fun():
            return lax.scan(lambda c, _: (lax.mul(c, 2.0), c), 1.0, None, length=4)

        carry, ys = run(fun)
        check(carry, 16.0)
        check(ys, [1.0, 2.0, 4.0, 8.0])

    def test_pytrees_and_closures(self, run):
        def fun(xs, scale):
            def body(c, x):
                y = lax.mul(x["a"], scale)
                return {"sum": lax.add(c["sum"], y)}, (y, None)

            return lax.scan(body, {"sum": np.float32(0)}, {"a": xs})

        carry, (ys, nothing) = run(fun, VECTOR, np.float32(10))
        check(carry["sum"], 30.0)
        check(ys, VECTOR * 10)
        assert nothing is None

    def test_forwarded_values_keep_their_types(self, run):
        def fun(x):
            return lax.scan(
                lambda c, y: ((c[0], lax.add(c[1], y)), (c[0], y, x, 1.0)), (2, np.float32(0)), x
            )

        (two, total), (twos, same, xs, ones) = run(fun, VECTOR)
        check(two, 2)
        check(total, 3.0)
        check(twos, [2, 2, 2])
        check(same, VECTOR)
        check(xs, np.tile(VECTOR, (3, 1)))
        check(ones, [1.0, 1.0, 1.0])

    def test_scans_without_iterations_return_the_start(self):
        carry, ys = lax.scan(lambda c, x: (lax.add(c, x), c), np.float32(1), VECTOR[:0])
        check(carry, 1.0)
        assert ys.shape == (0,)
        with disable_jit():
            carry, ys = lax.scan(lambda c, x: (c, (x, c)), 1.0, np.zeros((0, 3), np.int32))
        check(carry, 1.0)
        assert [(y.shape, y.dtype) for y in ys] == [((0, 3), np.int32), ((0,), np.float32)]

    @pytest.mark.parametrize(("given", "wanted"), [(True, 3), (False, 1), (2, 2), (0, 0), (1, 1)])
    def test_unroll_is_recorded_as_a_number(self, given, wanted):
        closed = make_olympuspr(lambda xs: lax.scan(lambda c, x: (x, None), 0.0, xs, unroll=given))(
            VECTOR
        )
        assert closed.eqns[0].params["unroll"] == wanted

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"xs": None}, ValueError, "no values to scan over and `length` not provided"),
            ({"xs": VECTOR, "length": 4}, ValueError, "4 which disagrees with leading axis size"),
            ({"xs": (VECTOR, VECTOR[:2])}, ValueError, "different leading axis sizes: 3, 2"),
            ({"xs": 2.0}, ValueError, "no leading axis to scan over: 2.0"),
            ({"xs": "text"}, TypeError, "text"),
            ({"xs": VECTOR, "unroll": -1}, ValueError, "`unroll` must be a `bool` or a non-neg"),
            ({"xs": None, "length": -1}, ValueError, "-1, which is negative"),
        ],
    )
    def test_invalid_arguments_raise(self, arguments, error, message):
        with pytest.raises(error, match=message):
            lax.scan(lambda c, x: (c, x), 0.0, **arguments)

    def test_the_length_must_be_known(self):
        with pytest.raises(ConcretizationTypeError, match="`length` argument to `scan`"):
            jit(lambda n: lax.scan(lambda c, _: (c, None), 0.0, None, length=n))(3)

    @pytest.mark.parametrize(
        ("body", "init", "message"),
        [
            (lambda c, x: c, 0.0, "scan body output must be a pair, got"),
            (lambda c, x: {"a": c, "b": x}, 0.0, "scan body output must be a pair, got"),
            (lambda c, x: ((c, c), x), 0.0, "input carry c is a pytree leaf but the correspond"),
            (
                lambda c, x: ({"b": c["a"]}, x),
                {"a": 0.0},
                "only the former has the key 'a' and only the latter has the key 'b'",
            ),
            (
                lambda c, x: (VECTOR, x),
                np.float32(0),
                (
                    r"carry c has type float32\[\] but the corresponding output carry component "
                    r"has type float32\[3\], so the shapes do not match"
                ),
            ),
            (
                lambda state, x: ((state[0], x), x),
                (1, np.int32(0)),
                r"component state\[1\] has type int32\[\] but .* float32\[\], so the dtypes do not",
            ),
        ],
    )
    def test_invalid_bodies_raise(self, body, init, message):
        with pytest.raises(TypeError, match=message):
            lax.scan(body, init, VECTOR)

    def test_bodies_must_be_functions(self):
        with pytest.raises(TypeError, match="f argument should be a callable"):
            lax.scan(3, 0.0, VECTOR)

    def test_scalars_take_the_dtype_of_the_result(self):
        carry, ys = lax.scan(lambda c, x: (x, c), 0, VECTOR)
        assert carry.dtype == ys.dtype == np.float32


class TestMap:
    def test_map_applies_the_function_to_each_slice(self, run):
        check(run(lambda xs: lax.map(lambda x: lax.mul(x, x), xs), VECTOR), VECTOR**2)

    def test_map_takes_and_returns_pytrees(self, run):
        result = run(lambda xs: lax.map(lambda x: {"a": lax.add(*x)}, (xs, xs)), VECTOR)
        check(result["a"], 2 * VECTOR)

    @pytest.mark.parametrize("batch_size", [1, 2, 3, 4, 7, 10])
    def test_batch_size_limits_examples_of_call(self, monkeypatch, batch_size):
        xs = np.arange(14, dtype=np.float32).reshape(7, 2)
        sizes = []

        def vectorized(f):
            def on_batch(batch):
                sizes.append(batch.shape[0])
                results = [f(x) for x in lax.unstack(batch)]
                return lax.concatenate([lax.expand_dims(y, (0,)) for y in results], 0)

            return on_batch

        monkeypatch.setattr(scanning, "_vectorize", vectorized)
        result = lax.map(lambda x: lax.reduce_sum(x, (0,)), xs, batch_size=batch_size)
        check(result, xs.sum(1))
        full, left = divmod(7, batch_size)
        assert sizes == [batch_size] * (full > 0) + [left] * (left > 0)

    def test_batches_need_vmap(self, monkeypatch):
        monkeypatch.setattr(scanning, "_vectorize", None)
        with pytest.raises(RuntimeError, match="install and import olympus_batching"):
            lax.map(lax.sin, VECTOR, batch_size=2)


class TestAssociativeScan:
    @pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 7, 8, 9, 33])
    @pytest.mark.parametrize("reverse", [False, True])
    def test_associative_scans_equal_cumulative_sums(self, size, reverse):
        values = np.arange(size, dtype=np.int32)
        expected = np.cumsum(values[::-1])[::-1] if reverse else np.cumsum(values)
        sums = lax.associative_scan(lax.add, values, reverse=reverse)
        assert isinstance(sums, Array)
        check(sums, expected)

    @pytest.mark.parametrize(
        ("combine", "ufunc"),
        [(lax.add, np.add), (lambda x, y: lax.mul(y, x), np.multiply), (lax.max, np.maximum)],
    )
    def test_long_associative_scans_of_known_operations(self, combine, ufunc):
        values = np.random.default_rng(0).uniform(0.9, 1.1, (3, 700)).astype(np.float32)
        found = lax.associative_scan(combine, values, axis=1, reverse=True)
        np.testing.assert_allclose(found, ufunc.accumulate(values[:, ::-1], 1)[:, ::-1], 1e-4)

    @pytest.mark.parametrize(
        "combine",
        [
            lambda x, y: lax.add(x, lax.mul(y, x.dtype.type(1))),
            lambda x, y: lax.add(x, x),
            lambda x, y: lax.add(x, y) if isinstance(x, Array) else bool(x),
        ],
    )
    def test_long_associative_scans_combine_pairs(self, combine):
        values = np.arange(1500, dtype=np.int32)
        in_pairs = associative.combined_in_pairs(
            lambda x, y: [combine(x[0], y[0])], [values], axis=0, reverse=False
        )
        check(lax.associative_scan(combine, values), np.asarray(in_pairs[0]))

    def test_along_a_dimension(self):
        values = np.arange(12, dtype=np.float32).reshape(3, 4)
        check(lax.associative_scan(lax.max, values, axis=-1), np.maximum.accumulate(values, 1))

    def test_order_of_operands(self):
        # Composition of the maps x -> a x + b, which does not commute.
        a, b = np.array([2.0, 3.0, 0.5, 1.0, 2.0]), np.array([1.0, -1.0, 2.0, 0.0, 3.0])

        def compose(first, second):
            return lax.mul(first[0], second[0]), lax.add(lax.mul(first[1], second[0]), second[1])

        slopes, offsets = lax.associative_scan(compose, (a, b))
        slope, offset = 1.0, 0.0
        for i in range(5):
            slope, offset = slope * a[i], offset * a[i] + b[i]
            check(slopes[i], slope)
            check(offsets[i], offset)

    def test_associative_scans_accept_booleans(self):
        values = np.array([False, True, False, False, True])
        check(lax.associative_scan(lax.bitwise_xor, values), np.logical_xor.accumulate(values))

    def test_unsuitable_arguments_of_associative_scans_raise(self):
        with pytest.raises(TypeError, match="fn argument should be callable"):
            lax.associative_scan(1, VECTOR)
        with pytest.raises(ValueError, match=r"same first dimension.*\(3,\), \(2,\)"):
            lax.associative_scan(lax.add, (VECTOR, VECTOR[:2]))


def test_unsupported_effects_in_loops_raise():
    strange_p = Primitive("strange")

    class StrangeEffect:
        def __repr__(self):
            return "Strange"

    effect = StrangeEffect()
    strange_p.def_effectful_abstract_eval(lambda x: (x, {effect}))
    with pytest.raises(NotImplementedError, match=r"Effects not supported in `scan`: \[Strange\]"):
        lax.scan(lambda c, _: (strange_p.bind(c), None), 1.0, None, length=2)


def test_equations_have_effects_of_branches_and_bodies():
    def noisy(x):
        lax.debug_print("x")
        return lax.sin(x)

    for fun in (
        lambda x: [lax.cond(lax.lt(x, 0.0), noisy, lax.sin, x)],
        lambda x: [lax.while_loop(lambda c: lax.lt(c, 1.0), noisy, x)],
        lambda x: [lax.fori_loop(0, 3, lambda i, c: noisy(c), x)],
    ):
        olympuspr, _ = trace_to_olympuspr(fun, [F32])
        check_olympuspr(olympuspr)
        assert [str(effect) for effect in olympuspr.effects] == ["Debug"]


def test_disable_jit_loops_do_not_mutate_numpy_arrays():
    start = np.array(1.0, np.float32)

    def body(carry):
        x, total = carry
        x += 1
        return x, lax.add(total, x)

    with disable_jit():
        x, total = lax.while_loop(lambda carry: carry[0] < 3, body, (start, start))
    assert (float(x), float(total), float(start)) == (3.0, 6.0, 1.0)
    assert x.dtype == np.float32


@pytest.mark.parametrize(
    ("choose", "message"),
    [
        (lambda: lax.cond(len, len, len, 1), "Pred type must be either boolean or number, got <b"),
        (lambda: lax.cond(1j, abs, abs, 1), "Pred type must be either boolean or number, got comp"),
        (lambda: lax.switch(len, [len, len], 1), "Index type must be an integer, got <built-in"),
        (lambda: lax.switch("a", [len, len], 1), "Index type must be an integer, got a"),
        (lambda: lax.switch((1, 1), [len, len]), r"must be scalar, got \(1, 1\) of shape \(2,\)"),
    ],
)
def test_predicates_and_indices_must_be_scalars(choose, message):
    with pytest.raises(TypeError, match=message):
        choose()


def test_unrolling_is_known():
    with pytest.raises(ConcretizationTypeError, match="`unroll` argument to `scan` expects"):
        jit(lambda n: lax.scan(lambda c, x: (c, x), 0, VECTOR, unroll=n))(2)
