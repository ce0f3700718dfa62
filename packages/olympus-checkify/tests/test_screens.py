# SPDX-License-Identifier: Apache-2.0
"""Screens: rules for the propagation of non-finite values, and programs that hide them."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import checkpoint, custom_jvp
from olympus_checkify.checked import checked
from olympus_checkify.errors import NonFiniteError
from olympus_checkify.locating import located
from olympus_checkify.screens.carrying import carrying_rules
from olympus_checkify.screens.facts import Fact
from olympus_checkify.screens.programs import Screen
from olympus_checkify.screens.screening import screened
from olympus_checkify.screens.tables import Case
from olympus_ir import ShapedArray, lax
from olympus_ir.lax.elementwise.conversion import stored_p
from olympus_ir.programs.jit import jit
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.trees import pytrees

RNG = np.random.default_rng(0)
MATRIX = RNG.uniform(0.5, 0.9, (3, 4)).astype(np.float32)
PAIR = (MATRIX, MATRIX[::-1].copy())

# A function for each rule, with operands. Each function is one equation of the rule's primitive.
UNARY = (
    "abs acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 floor log "
    "log1p logistic neg round rsqrt sign sin sinh sqrt square tan tanh cumsum cumprod"
).split()
BINARY = "add sub mul div rem max min atan2".split()
WHICH = RNG.uniform(size=(3, 4)) < 0.5
IMAGE, KERNEL = RNG.normal(size=(1, 2, 7)), RNG.normal(size=(3, 2, 3))


def _convolution(stride, padding, lhs_dilation=1, rhs_dilation=1):
    return lambda x, w: lax.conv_general_dilated(
        x, w, (stride,), [padding], (lhs_dilation,), (rhs_dilation,)
    )


CASES = {
    **{name: (getattr(lax, name), (MATRIX,)) for name in UNARY},
    **{name: (getattr(lax, name), PAIR) for name in BINARY},
    "square power": (lambda x: lax.integer_pow(x, 3), (MATRIX,)),
    "reciprocal power": (lambda x: lax.integer_pow(x, -2), (MATRIX,)),
    "complex": (lax.complex, PAIR),
    "conj": (lax.conj, (MATRIX + 1j * MATRIX,)),
    "broadcast": (lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (1, 2)), (MATRIX,)),
    "convert": (lambda x: lax.convert_element_type(x, np.float16), (MATRIX,)),
    "reduce_precision": (lambda x: lax.reduce_precision(x, 5, 10), (MATRIX,)),
    "reshape": (lambda x: lax.reshape(x, (12,)), (MATRIX,)),
    "rev": (lambda x: lax.rev(x, (0,)), (MATRIX,)),
    "squeeze": (lambda x: lax.squeeze(x, (0,)), (MATRIX[None],)),
    "transpose": (lambda x: lax.transpose(x, (1, 0)), (MATRIX,)),
    "tile": (lambda x: lax.tile(x, (2, 1)), (MATRIX,)),
    "dynamic_update_slice": (
        lambda x, y: lax.dynamic_update_slice(x, y[:2, :2], (1, 1)),
        (MATRIX, MATRIX),
    ),
    "concatenate": (lambda x, y: lax.concatenate([x, y], 0), PAIR),
    "sort": (lambda x, y: lax.sort((x, y), num_keys=1), PAIR),
    "optimization_barrier": (lambda x, y: lax.optimization_barrier((x, y)), PAIR),
    "slice": (lambda x: lax.slice(x, (0, 1), (3, 4), (2, 1)), (MATRIX,)),
    "select": (lambda x, y: lax.select(WHICH, x, y), PAIR),
    "split": (lambda x: lax.split(x, (1, 3), 1), (MATRIX,)),
    "pad": (lambda x: lax.pad(x, np.float32(0), ((1, 2, 1), (0, 0, 0))), (MATRIX,)),
    "crop": (lambda x: lax.pad(x, np.float32(0), ((-1, 2, 0), (0, 0, 0))), (MATRIX,)),
    "scatter_add": (
        lambda x, y: lax.scatter_add(
            x, np.array([[0], [2]]), y[:2], lax.ScatterDimensionNumbers((1,), (0,), (0,))
        ),
        (MATRIX, MATRIX),
    ),
    "reduce_sum": (lambda x: lax.reduce_sum(x, (0,)), (MATRIX,)),
    "reduce_prod": (lambda x: lax.reduce_prod(x, (0, 1)), (MATRIX,)),
    "dot": (lambda x, y: lax.dot(x, y.T), PAIR),
    "convolution": (_convolution(1, (1, 1)), (IMAGE, KERNEL)),
    "convolution with gaps": (_convolution(4, (0, 0)), (IMAGE, KERNEL)),
    "dilated convolution": (_convolution(1, (2, 2), 2, 2), (IMAGE, KERNEL)),
    "convolution of padding": (_convolution(5, (3, 0)), (IMAGE, KERNEL)),
}


def _traced(name):
    """Returns the program of a case, and its operands."""
    fun, operands = CASES[name]
    operands = [np.asarray(x, np.complex64 if np.iscomplexobj(x) else np.float32) for x in operands]
    avals = [ShapedArray(x.shape, x.dtype) for x in operands]
    return trace_to_closed(lambda *x: _leaves(fun(*x)), avals), operands


@pytest.mark.parametrize("name", CASES)
def test_non_finite_inputs_reach_the_results(name):
    fun = CASES[name][0]
    closed, operands = _traced(name)
    equation = next(e for e in closed.eqns if carrying_rules.find(e.primitive))
    run = jit(lambda *x: _leaves(fun(*x)))
    entries = carrying_rules[equation.primitive](equation, True)
    for place, operand in enumerate(operands):
        entry = entries[place] if place < len(entries) else None
        if entry is None or equation.invars[place] is not closed.invars[place]:
            continue
        for index in zip(*np.nonzero(_in_part(entry.part, operand.shape)), strict=True):
            for bad in (np.nan, np.inf, -np.inf) if entry.infinities else (np.nan,):
                values = [x.copy() for x in operands]
                values[place][index] = bad
                results = [np.asarray(x, np.complex64) for x in run(*values)]
                assert not all(np.isfinite(results[at]).all() for at in entry.results)


def _in_part(part, shape):
    """Returns a mask of the elements in a part of a value."""
    if isinstance(part, Case):
        return part.number == WHICH
    mask = np.zeros(shape, bool)
    mask[... if part is None else part] = True
    return mask


def _leaves(result):
    return list(result) if isinstance(result, list | tuple) else [result]


def test_each_rule_has_a_case():
    covered = set()
    for name in CASES:
        closed, _ = _traced(name)
        covered |= {equation.primitive.name for equation in closed.eqns}
    # They return their operand, or are joins and sums like those above.
    covered |= {"name", "copy", "copy_p", "stage", "stop_gradient", "add_any", "stack", "unstack"}
    assert {primitive.name for primitive in carrying_rules} <= covered


# Functions of 1.5 that make a bad value of another operand and hide it: their results are finite.
@custom_jvp
def _hidden_log(x):
    return lax.tanh(lax.log(x))


_hidden_log.defjvp(lambda primals, tangents: (_hidden_log(*primals), tangents[0]))


def _exp_of_square(x):
    return lax.exp(lax.mul(x, x))


def _with_ones(x):
    return lax.concatenate([lax.reshape(x, (1,)), np.ones(2, np.float32)], 0)


def _in_buffer(x):
    def body(i, buffer):
        value = lax.log(lax.sub(x, lax.convert_element_type(i, np.float32)))
        return lax.dynamic_update_index_in_dim(buffer, value, 0, 0)

    buffer = lax.fori_loop(0, 2, body, np.zeros(2, np.float32))
    return lax.select(np.array([False, True]), buffer, np.ones(2, np.float32))


def _loop(condition, body):
    return lambda x: lax.while_loop(
        lambda c: lax.lt(lax.add(c[0], condition(x, c[1])), np.float32(3)),
        lambda c: (lax.add(c[0], np.float32(1)), body(x, c[1])),
        (np.float32(0), np.float32(1)),
    )[1]


def _nothing(x, c):
    return np.float32(0)


MASK = np.array([True, False, True])
INFINITE = np.full(3, -np.inf, np.float32)

HIDING = {
    "comparison": (lambda x: lax.lt(lax.log(x), np.float32(0)), -1),
    "exponential": (lambda x: lax.exp(lax.neg(lax.mul(x, x))), 1e30),
    "denominator": (lambda x: lax.div(np.float32(1), _exp_of_square(x)), 1e30),
    "saturation": (lambda x: lax.tanh(_exp_of_square(x)), 1e30),
    "selection": (lambda x: lax.select(lax.gt(x, np.float32(0)), lax.log(x), x), -1),
    "extreme": (lambda x: lax.max(lax.neg(_exp_of_square(x)), np.float32(0)), 1e30),
    "integer": (lambda x: lax.convert_element_type(lax.log(x), np.int32), -1),
    "part": (lambda x: lax.slice(lax.log(_with_ones(x)), (1,), (3,)), -1),
    "power": (lambda x: lax.pow(lax.log(x), np.float32(0)), -1),
    "rule": (_hidden_log, 0),
    "recomputed": (checkpoint(lambda x: lax.tanh(_exp_of_square(x))), 1e30),
    "compiled": (jit(lambda x: lax.gt(lax.log(x), np.float32(0))), -1),
    "branch": (
        lambda x: lax.cond(
            lax.gt(x, np.float32(2)), lambda y: lax.tanh(_exp_of_square(y)), lambda y: y, x
        ),
        1e30,
    ),
    "carry": (
        lambda x: lax.fori_loop(
            0, 3, lambda i, c: lax.select(lax.eq(i, 2), x, lax.log(lax.add(x, c))), np.float32(1)
        ),
        -1,
    ),
    "condition": (_loop(lambda x, c: lax.sign(_exp_of_square(x)), lambda x, c: lax.neg(c)), 1e30),
    "body": (_loop(_nothing, lambda x, c: lax.tanh(lax.add(_exp_of_square(x), c))), 1e30),
    "stacked": (
        lambda x: lax.slice(
            lax.scan(lambda c, y: (c, lax.log(y)), 0, _with_ones(x))[1], (1,), (3,)
        ),
        -1,
    ),
    "buffer": (_in_buffer, 0.5),
    "before a mask": (
        lambda x: lax.exp(lax.select(MASK, lax.neg(_exp_of_square(_with_ones(x))), INFINITE)),
        1e30,
    ),
    "after a mask": (
        lambda x: lax.exp(lax.add(lax.select(MASK, _with_ones(x), INFINITE), x)),
        1e30,
    ),
}


@pytest.mark.parametrize("name", HIDING)
def test_nan_hidden_from_the_result_is_detected(name):
    fun, bad = HIDING[name]
    run = checked(fun)
    np.testing.assert_allclose(run(np.float32(1.5)), jit(fun)(np.float32(1.5)), rtol=1e-6)
    assert not np.isnan(np.asarray(jit(fun)(np.float32(bad)))).any()
    with pytest.raises(FloatingPointError):
        run(np.float32(bad))


def test_false_alarms_raise_no_error():
    runs = []

    @checked
    def masked(x):
        runs.append(1)  # when it is traced
        largest = lax.select(MASK, x, INFINITE)
        difference = lax.sub(largest, lax.max(largest, INFINITE))
        return lax.select(lax.eq(difference, difference), difference, lax.full_like(difference, 7))

    expected = np.array([0, 7, 0], np.float32)
    for _ in range(3):
        np.testing.assert_array_equal(masked(np.ones(3, np.float32)), expected)
    assert len(runs) == 1
    with pytest.raises(FloatingPointError):
        checked(lambda x, y: lax.log(x) + lax.exp(y))(np.float32(-1), np.float32(np.inf))


def test_unused_values_are_not_checked():
    def fun(x, i):
        lax.log(x)
        lax.dynamic_index_in_dim(np.zeros(3, np.float32), i)
        return lax.sub(x, np.float32(1))

    run = checked(fun)
    np.testing.assert_array_equal(run(np.float32(-1), 7), np.float32(-2))
    # Nor are they reported if another operation fails.
    with pytest.raises(FloatingPointError, match="`sub` gave -inf"):
        checked(lambda x: (lax.log(x), lax.sub(x, np.float32(3e38)))[1])(np.float32(-3e38))


def test_callbacks_run_once():
    calls = []

    def counted(x):
        calls.append(float(x))
        return x

    @checked
    def run(x):
        return lax.log(lax.pure_callback(counted, ShapedArray((), np.dtype(np.float32)), x))

    np.testing.assert_allclose(run(np.float32(2)), np.log(2), rtol=1e-6)
    with pytest.raises(FloatingPointError, match="`log` gave -inf"):
        run(np.float32(0))
    assert calls == [2, 0]


def test_screens_inspect_few_values():
    closed = trace_to_closed(
        lambda x: [lax.sin(lax.mul(lax.add(lax.mul(x, x), x), x))],
        [ShapedArray((3,), np.dtype(np.float32))],
    )
    screen = Screen(closed, [Fact()], frozenset({NonFiniteError}))
    assert screen.cover([False]) == [True]
    assert [step.checked for step in screen.steps] == [[], [], [], [0]]


def test_small_results_are_stored_as_vectors():
    fun = screened(lambda x: lax.exp(lax.transpose(x, (1, 0))), frozenset({NonFiniteError}))
    closed = trace_to_closed(
        lambda x: pytrees.tree_leaves(fun(x)), [ShapedArray(MATRIX.shape, MATRIX.dtype)]
    )
    stored = [e.outvars[0].aval.shape for e in closed.eqns if e.primitive is stored_p]
    assert stored == [(MATRIX.size,)]
    np.testing.assert_allclose(jit(fun)(MATRIX)[1], np.exp(MATRIX.T), rtol=1e-6)


# Functions of a vector of four numbers. Each value that may be bad is detected in the result.
COVERED = {
    "slices": lambda x: _of_halves(lax.square(x), 0, 2, 4),
    "strided slices": lambda x: _of_alternate_elements(lax.square(x)),
    "both cases": lambda x: _selected(lax.square(x), lambda y: y, lax.neg),
    "both cases of a cotangent": lambda x: _split_and_added(lax.square(x)),
    "bounded factor": lambda x: lax.tanh(lax.mul(lax.sin(x), x)),
    "positive square root": lambda x: lax.tanh(lax.sqrt(lax.abs(x))),
    "bounded denominator": lambda x: lax.tanh(lax.div(x, lax.add(lax.logistic(x), _of_ones(x)))),
    "exponential of what is not positive": lambda x: lax.exp(lax.neg(lax.abs(x))),
}


def _of_halves(x, first, middle, last):
    return lax.add(lax.slice(x, (first,), (middle,)), lax.slice(x, (middle,), (last,)))


def _of_alternate_elements(x):
    return lax.add(lax.slice(x, (0,), (4,), (2,)), lax.slice(x, (1,), (4,), (2,)))


def _split_and_added(x):
    which, zeros = lax.gt(x, lax.full_like(x, 2)), lax.full_like(x, 0)
    return lax.add(lax.select(which, x, zeros), lax.select(which, zeros, x))


def _selected(x, first, second):
    return lax.select(lax.gt(x, lax.full_like(x, 2)), first(x), second(x))


def _of_ones(x):
    return lax.full_like(x, 1)


def _screen_of(fun):
    closed = trace_to_closed(lambda x: [fun(x)], [ShapedArray((4,), np.dtype(np.float32))])
    screen = Screen(closed, [Fact()], frozenset({NonFiniteError}))
    screen.cover([False])
    return screen


@pytest.mark.parametrize("name", COVERED)
def test_screens_of_covered_programs_check_only_result(name):
    screen = _screen_of(COVERED[name])
    assert not any(step.guarded for step in screen.steps)
    assert not any(step.checked for step in screen.steps[:-1])


# Functions of which a part of a bad value is not detected without a guard or a check inside.
NOT_COVERED = {
    "a slice is missing": lambda x: _of_halves(lax.square(x), 0, 1, 2),
    "one case": lambda x: _selected(lax.square(x), lambda y: y, _of_ones),
    "factor above one": lambda x: lax.tanh(lax.mul(lax.add(lax.sin(x), lax.sin(x)), x)),
    "square root": lambda x: lax.is_finite(lax.sqrt(x)),
    "denominator at zero": lambda x: lax.tanh(lax.div(x, lax.logistic(x))),
    "exponential": lambda x: lax.tanh(lax.exp(x)),
}


@pytest.mark.parametrize("name", NOT_COVERED)
def test_screens_check_values_not_covered_by_result(name):
    screen = _screen_of(NOT_COVERED[name])
    assert any(step.guarded for step in screen.steps) or any(
        step.checked for step in screen.steps[:-1]
    )


# ---- random programs ----

ANY_UNARY = (
    "abs acosh asin asinh atan cbrt ceil cos cosh erf erfc exp exp2 expm1 floor log log1p logistic "
    "neg rsqrt sign sin sinh sqrt square tan tanh"
).split()
ANY_BINARY = "add add sub mul mul div max min atan2 pow".split()
HARD = np.array([0, 0.5, -1, 3, 40, -90, 1e20, -3e38, 1e-30, 2], np.float32)


def _random_function(rng):
    """Returns a function of two vectors, a chain of operations with a choice and parts."""
    plan = [(rng.integers(5), rng.integers(1 << 20, size=4)) for _ in range(10)]

    def function(x, y):
        values = [x, y, lax.mul(x, y)]
        for kind, numbers in plan:
            a, b, c = (values[-1 - number % min(4, len(values))] for number in numbers[:3])
            if kind <= 1:
                result = getattr(lax, ANY_UNARY[numbers[3] % len(ANY_UNARY)])(a)
            elif kind <= 2:
                result = getattr(lax, ANY_BINARY[numbers[3] % len(ANY_BINARY)])(a, b)
            elif kind == 3:
                result = lax.select(lax.gt(c, lax.full_like(c, 1)), a, b)
            else:
                halves = [lax.slice(a, (0,), (5,)), lax.slice(b, (5,), (10,))]
                result = lax.concatenate(halves[:: 1 if numbers[3] % 2 else -1], 0)
            values.append(result)
        return values[-1], lax.reduce_sum(values[-3], (0,))

    return function


@pytest.mark.parametrize("seed", range(12))
def test_screens_and_full_checks_agree_on_random_functions(seed):
    rng = np.random.default_rng(seed)
    fun = _random_function(rng)
    kinds = frozenset({NonFiniteError})
    screen, checks = jit(screened(fun, kinds)), jit(located(fun, kinds))
    for size in (0.5, 3.0, 1e10, 1e30):
        x, y = (rng.normal(size=10).astype(np.float32) * np.float32(size) for _ in range(2))
        for operands in ((x, y), (x, rng.permutation(HARD)), (rng.permutation(HARD), y)):
            error, _ = checks(*operands)
            found, _ = screen(*operands)
            assert bool(np.asarray(found)) or error.get() is None


def test_one_trace_for_both_programs():
    factors = iter((-1.0, 1.0))
    function = checked(lambda x: lax.log(lax.mul(x, next(factors))), nans=True)
    with pytest.raises(FloatingPointError):
        function(1.0)
