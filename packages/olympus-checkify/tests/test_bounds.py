# SPDX-License-Identifier: Apache-2.0
"""Bounds of results: rules of interval arithmetic, tried on elements of the intervals."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from olympus_checkify.screens.bounds import (
    Interval,
    bounds_of_result,
    bounds_rules,
    finite_part,
    is_finite,
)
from olympus_ir import ShapedArray, lax
from olympus_ir.programs.jit import jit
from olympus_ir.programs.staging import trace_to_closed

DTYPES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32)]
SHAPE = (3, 8)
RNG = np.random.default_rng(0)

# A function for each rule. Each one is one equation of the rule's primitive.
UNARY = (
    "abs asinh atan bessel_i0e bessel_i1e cbrt ceil cos erf erfc exp exp2 expm1 floor log log1p "
    "logistic neg round rsqrt sign sin sqrt square tanh"
).split()
BINARY = "add atan2 div max min mul sub".split()
FUNCTIONS = {
    **{name: (getattr(lax, name), 1) for name in UNARY},
    **{name: (getattr(lax, name), 2) for name in BINARY},
    "clamp": (lax.clamp, 3),
    "concatenate": (lambda x, y: lax.concatenate([x, y], 0), 2),
    "cubes": (lambda x: lax.integer_pow(x, 3), 1),
    "fourth powers": (lambda x: lax.integer_pow(x, 4), 1),
    "convert": (lambda x: lax.convert_element_type(x, ml_dtypes.float8_e5m2), 1),
    "cummax": (lax.cummax, 1),
    "cummin": (lax.cummin, 1),
    "dot": (lambda x, y: lax.dot_general(x, y, (([1], [1]), ([], []))), 2),
    "dynamic_slice": (lambda x: lax.dynamic_slice(x, (1, 2), (2, 3)), 1),
    "pad": (lambda x: lax.pad(x, np.zeros((), x.dtype), ((1, 1, 1), (0, -2, 0))), 1),
    "reduce_max": (lambda x: lax.reduce_max(x, (0,)), 1),
    "reduce_min": (lambda x: lax.reduce_min(x, (1,)), 1),
    "reduce_sum": (lambda x: lax.reduce_sum(x, (0, 1)), 1),
    "reshape": (lambda x: lax.reshape(x, (24,)), 1),
    "reverse": (lambda x: lax.rev(x, (0,)), 1),
    "select": (lambda x, y: lax.select(np.arange(24).reshape(SHAPE) % 2 == 0, x, y), 2),
    "slice": (lambda x: lax.slice(x, (0, 1), (2, 3)), 1),
    "split": (lambda x: lax.split(x, (3, 5), 1), 1),
    "squares": (lambda x: lax.mul(x, x), 1),
    "tile": (lambda x: lax.tile(x, (2, 1)), 1),
    "transpose": (lambda x: lax.transpose(x, (1, 0)), 1),
    "squeeze": (lambda x: lax.squeeze(lax.broadcast_in_dim(x, (1, *SHAPE), (1, 2)), (0,)), 1),
}
ENDS = (-math.inf, -1e4, -3.0, -1.0, -0.3, 0.0, 1e-3, 0.7, 1.0, 20.0, 1e4, math.inf)


def _traced(name, dtype):
    fun, count = FUNCTIONS[name]
    return trace_to_closed(
        lambda *operands: _leaves(fun(*operands)), [ShapedArray(SHAPE, dtype)] * count
    )


def _leaves(result):
    return list(result) if isinstance(result, list | tuple) else [result]


def _random_interval(dtype):
    low, high = sorted(RNG.choice(len(ENDS), 2, replace=False))
    return finite_part(Interval(*(float(np.asarray(ENDS[at], dtype)) for at in (low, high))), dtype)


def _elements(interval, dtype):
    """Returns random elements of an interval, its ends among them."""
    low, high = interval
    near, far = RNG.uniform(size=SHAPE), RNG.uniform(size=SHAPE) ** 8
    share = np.where(RNG.uniform(size=SHAPE) < 0.5, near, far)
    elements = low + share * (high - low) if math.isfinite(high - low) else share * high
    elements.flat[RNG.choice(24, 6, replace=False)] = low
    elements.flat[RNG.choice(24, 6, replace=False)] = high
    return np.clip(elements, low, high).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_lie_within_the_bounds(name, dtype):
    fun, count = FUNCTIONS[name]
    closed = _traced(name, dtype)
    equation = closed.eqns[-1]
    run = jit(lambda *operands: _leaves(fun(*operands)))
    for _ in range(40):
        intervals = [_random_interval(dtype) for _ in range(count)]
        given = _of_operands(equation, closed, intervals)
        bounds = bounds_of_result(equation, given)
        operands = [_elements(interval, dtype) for interval in intervals]
        for result in run(*operands):
            result = np.asarray(result).astype(np.float64)
            finite = result[np.isfinite(result)]
            assert (finite >= bounds.low).all() and (finite <= bounds.high).all()
            if is_finite(bounds, equation.outvars[0].aval.dtype):
                assert np.isfinite(result).all()


def _of_operands(equation, closed, intervals):
    """Returns an interval for each operand of an equation. Others than the program's are zero."""
    known = dict(zip(closed.invars, intervals, strict=True))
    whole = intervals[0]
    return [
        known.get(atom, whole) if not hasattr(atom, "val") else Interval(0.0, 0.0)
        for atom in equation.invars
    ]


def test_each_bound_rule_is_tested():
    covered = {e.primitive.name for name in FUNCTIONS for e in _traced(name, DTYPES[2]).eqns}
    # They return their operand, or are joins and sums like those above.
    covered |= {"add_any", "copy", "copy_p", "name", "stack", "stop_gradient", "unstack"}
    assert {primitive.name for primitive in bounds_rules} <= covered


@pytest.mark.parametrize("name", ["sin", "cos", "tanh", "logistic", "sign"])
def test_bounded_functions_never_exceed_one(name):
    run = jit(getattr(lax, name))
    patterns = RNG.integers(0, 1 << 32, 1 << 20, np.uint64).astype(np.uint32).view(np.float32)
    grid = np.linspace(-12, 12, 1 << 20).astype(np.float32)
    for x in (patterns[np.isfinite(patterns)], grid, grid.astype(np.float16)):
        assert np.abs(np.asarray(run(x)).astype(np.float64)).max() <= 1


def test_unknown_bounds():
    complexes = trace_to_closed(lambda x: [lax.neg(x)], [ShapedArray((2,), np.dtype(np.complex64))])
    assert bounds_of_result(complexes.eqns[0], [Interval(0, 1)]) == Interval()
    gammas = trace_to_closed(lambda x: [lax.lgamma(x)], [ShapedArray((2,), np.dtype(np.float32))])
    assert bounds_of_result(gammas.eqns[-1], [Interval(0, 1)]) == Interval()
