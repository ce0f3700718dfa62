# SPDX-License-Identifier: Apache-2.0
"""Symbolic dimensions: arithmetic, order, constraints, specifications and solving."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olympus_ir import ShapedArray, lax
from olympus_ir.adapters.construction import max_dim, min_dim
from olympus_ir.diagnostics.errors import InconclusiveDimensionOperation
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.tracing import is_constant_dim
from olympus_ir.symbolic import (
    SymbolicScope,
    is_symbolic_dim,
    symbolic_args_specs,
    symbolic_shape,
)
from olympus_ir.symbolic.expressions import evaluate
from olympus_ir.symbolic.solving import solve
from olympus_ir.types.shape_struct import ShapeDtypeStruct

A, B, C, D = symbolic_shape("a, b, c, d")


# The texts are those that JAX 0.10.2 shows.
@pytest.mark.parametrize(
    ("dimension", "text"),
    [
        (1 + A, "a + 1"),
        (A - B, "- b + a"),
        (A + B * 2 - 3, "2*b + a - 3"),
        (3 - A, "- a + 3"),
        (B * A * A, "a^2*b"),
        (A * C + B * B, "a*c + b^2"),
        (A**3 + B**2 + C, "a^3 + b^2 + c"),
        (A * D + B * C, "a*d + b*c"),
        (A**2 * B + A * B**2 + A**3 + B**3, "a*b^2 + a^2*b + b^3 + a^3"),
        (A // 2 + A, "floordiv(a, 2) + a"),
        ((A // 2) * B + A * B, "b*floordiv(a, 2) + a*b"),
        (
            A % 2 + A // 2 + max_dim(A, B) + min_dim(A, B),
            "min(a, b) + max(a, b) + mod(a, 2) + floordiv(a, 2)",
        ),
        (
            A // 2 + B // 2 + A // 3 + A % 3,
            "mod(a, 3) + floordiv(b, 2) + floordiv(a, 3) + floordiv(a, 2)",
        ),
        ((2 * A) // 2, "a"),
        ((2 * A + 3) // 2, "a + 1"),
        ((2 * A + 3) % 2, "1"),
        ((2 * A + B) // 2, "floordiv(b + 2*a, 2)"),
        ((A * A - 1) // (A - 1), "a + 1"),
        ((A * B + B) // B, "a + 1"),
        ((A * B + A) // B, "floordiv(a*b + a, b)"),
        (5 // A, "floordiv(5, a)"),
        (0 // A, "0"),
        (A - A, "0"),
        (max_dim(A, B), "max(a, b)"),
        (max_dim(A + 1, A), "a + 1"),
        (max_dim(1, A), "a"),
        (min_dim(A, 1), "1"),
        (min_dim(A, 5), "min(a, 5)"),
        (np.int32(2) * A + np.array(1), "2*a + 1"),
    ],
)
def test_normal_forms_are_printed(dimension, text):
    assert str(dimension) == text


def test_constant_results_are_integers():
    assert type(A - A) is int
    assert type((2 * A + 2 * B) // (A + B)) is int
    assert (4, A) == (4, A + 0)
    assert {A: 1}[A * 1] == 1
    assert copy.deepcopy(A) is A
    assert is_symbolic_dim(A + 1)
    assert not is_symbolic_dim(3)
    assert is_constant_dim(3)
    assert not is_constant_dim(A)


_dimensions = st.recursive(
    st.sampled_from([A, B, C]) | st.integers(-3, 4),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("+-*"), inner, inner),
        st.tuples(st.sampled_from(["//", "%"]), inner, st.integers(1, 4)),
        st.tuples(st.sampled_from(["max", "min"]), inner, inner),
    ),
    max_leaves=7,
)


def _compute(tree, values):
    """The dimension that a tree of operations makes, or its number for given values."""
    if not isinstance(tree, tuple):
        return tree if values is None or isinstance(tree, int) else values[str(tree)]
    name, left, right = tree
    left, right = _compute(left, values), _compute(right, values)
    if name in ("max", "min"):
        return {"max": max_dim, "min": min_dim}[name](left, right)
    operation = {
        "+": lambda x, y: x + y,
        "-": lambda x, y: x - y,
        "*": lambda x, y: x * y,
        "//": lambda x, y: x // y,
        "%": lambda x, y: x % y,
    }
    return operation[name](left, right)


@given(_dimensions)
@settings(max_examples=150)
def test_arithmetic_and_bounds_hold_for_all_values(tree):
    dimension = _compute(tree, None)
    lower, upper = dimension.bounds() if is_symbolic_dim(dimension) else (dimension, dimension)
    for sizes in itertools.product((1, 2, 3, 7), repeat=3):
        values = dict(zip("abc", sizes, strict=True))
        number = _compute(tree, values)
        assert evaluate(dimension, values) == number
        assert lower <= number <= upper


@given(_dimensions)
@settings(max_examples=60)
def test_text_round_trips(tree):
    dimension = _compute(tree, None)
    assert symbolic_shape(str(dimension), scope=A.scope) == (dimension,)


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (lambda: A >= 1, True),
        (lambda: A > 0, True),
        (lambda: A < 1, False),
        (lambda: A + B > A, True),
        (lambda: A * B >= 1, True),
        (lambda: A // 2 < A, True),
        (lambda: A - A // 2 >= 1, True),
        (lambda: A % 3 >= 3, False),
        (lambda: A % B < B, True),
        (lambda: max_dim(A, B) - min_dim(A, B) >= 0, True),
        (lambda: (A + 1) // 2 <= A, True),
        (lambda: (A - 1) // 2 + 1 >= 1, True),
        (lambda: 4 * (A // 4) + 3 >= A, True),
        (lambda: max_dim(A - 3, 0) <= A, True),
        (lambda: A % -2 <= 0, True),
        (lambda: A == B, False),
        (lambda: A != 1, True),
    ],
)
def test_comparisons_that_hold_for_all_values(claim, expected):
    assert claim() is expected


@pytest.mark.parametrize("claim", [lambda: A >= 2, lambda: A < B, lambda: A * B >= A * 2])
def test_inconclusive_comparisons_raise(claim):
    with pytest.raises(InconclusiveDimensionOperation, match="comparison '.*' is inconclusive"):
        claim()


def test_conversion_to_int_raises():
    with pytest.raises(InconclusiveDimensionOperation, match="'a' used in a context that requires"):
        int(A)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        range(A)
    with pytest.raises(ZeroDivisionError):
        A // 0
    with pytest.raises(ValueError, match="cannot be raised to negative powers"):
        A**-1


# ---- scopes ----


def _scoped(*constraints):
    return symbolic_shape("a, b, c", constraints=constraints)


def test_constraints_decide_comparisons():
    a, b, c = _scoped("a >= b", "b >= c")
    assert a >= c
    assert 2 * a >= b + c
    assert str(max_dim(a, b)) == "a"
    a, b, _ = _scoped("a >= 4", "a <= 16")
    assert a // 4 >= 1
    assert a * b >= 4
    assert str(min_dim(a, 20)) == "a"
    a, b, c = _scoped("a + b <= c")
    assert c - a >= 1
    a, b, c = _scoped("max(a, b) <= 5")
    assert a + b <= 10
    a, _, _ = _scoped("floordiv(a, 2) >= 3")
    assert a >= 6


def test_equalities_rewrite():
    a, b, _ = _scoped("a == 2*b + 1")
    assert (str(a), a % 2, str(a // 2)) == ("2*b + 1", 1, "b")
    a, b, _ = _scoped("a*b == c")
    assert str(a * b * a) == "a*c"
    a, b, _ = _scoped("2*a == 3*b")
    assert [str(each) for each in (a, 2 * a, 6 * a, 2 * a + b)] == ["a", "3*b", "9*b", "4*b"]
    a, _, _ = _scoped("mod(a, 4) == 0")
    assert a % 4 == 0
    assert 4 * (a // 4) == a
    assert symbolic_shape("a", constraints=["a == 4"]) == (4,)


@pytest.mark.parametrize(
    ("constraint", "match"),
    [
        ("a > b", "must contain one of"),
        ("1 >= 2", "Unsatisfiable explicit constraint: 1 >= 2"),
        ("a + b == c", "must be of the form"),
        (3, "must be a string: got 3"),
    ],
)
def test_malformed_constraints_raise(constraint, match):
    with pytest.raises(ValueError, match=match):
        SymbolicScope([constraint])


def test_mixed_scopes_raise():
    (other,) = symbolic_shape("a")
    assert other != A
    assert hash(other) != hash(A)
    with pytest.raises(ValueError, match="Invalid mixing of symbolic scopes"):
        other + A
    with pytest.raises(ValueError, match="when comparing 'a' >= 'a'"):
        _ = other >= A
    assert ShapedArray((A,), np.float32) is not ShapedArray((other,), np.float32)
    assert ShapedArray((A,), np.float32) is ShapedArray((A * 1,), np.float32)


# ---- specifications ----


@pytest.mark.parametrize(
    ("spec", "like", "shown"),
    [
        ("", None, "()"),
        ("(a, b)", None, "(a, b)"),
        ("a,", None, "(a,)"),
        ("a, ...", (3, 4, 5), "(a, 4, 5)"),
        ("_, b, _", (3, 4, 5), "(3, b, 5)"),
        (None, (3, 4), "(3, 4)"),
        ("a^2, -1 + 2*a, max(a, mod(b, 3))", None, "(a^2, 2*a - 1, max(a, mod(b, 3)))"),
        ("2*(a + 1)", None, "(2*a + 2,)"),
    ],
)
def test_specifications_are_completed_from_another_shape(spec, like, shown):
    assert str(symbolic_shape(spec, like=like)) == shown


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ("a,,b", "in dimension 1: expecting a name, a number or '-' but found ','"),
        ("a b", "in dimension 1: expecting ',' or the end but found 'b'"),
        ("a, ...", "spec contains ... but no 'like' shape was given"),
        ("max(a)", "expecting ',' but found '\\)'"),
        ("1.5", "found '.'"),
        (3, "should be None or a string. Found 3"),
    ],
)
def test_malformed_specifications_raise(spec, match):
    with pytest.raises(ValueError, match=match):
        symbolic_shape(spec)


def test_specifications_of_arguments():
    args = {"x": np.ones((3, 4)), "y": [np.ones((5, 4), np.int32)]}
    specs = symbolic_args_specs(args, {"x": "a, _", "y": "_, b"})
    assert str(specs["x"]) == "ShapeDtypeStruct(shape=(a, 4), dtype=float32)"
    assert str(specs["y"][0]) == "ShapeDtypeStruct(shape=(5, b), dtype=int32)"
    (spec,) = symbolic_args_specs((lax.full((3, 4), np.float32(1)),), "a, _")
    assert spec.sharding is None
    with pytest.raises(ValueError, match="different lengths"):
        symbolic_args_specs((1.0, 2.0), ("",))


# ---- solving ----


def test_sizes_are_solved_for_variables():
    solution = solve([(2 * A + 1, B), (A + B, 3)], "x{}".format)
    assert solution.values_for([(7, 4), (7, 3)]) == {"a": 3, "b": 4}
    with pytest.raises(ValueError, match=r"remainder 1 when computing the value of 'a'"):
        solution.values_for([(6, 4), (7, 3)])
    with pytest.raises(ValueError, match=r"x1.shape\[0\] \(= 8\) and the specification 'b \+ a'"):
        solution.values_for([(7, 4), (8, 3)])
    with pytest.raises(ValueError, match=r"Expected value >= 1 for dimension variable 'b'"):
        solution.values_for([(7, 0), (3, 3)])
    with pytest.raises(
        ValueError, match=r"Cannot solve for values of dimension variables \{'a', 'b'"
    ):
        solve([(A * B,)], "x{}".format)


# ---- programs ----


def test_programs_have_symbolic_shapes():
    x = ShapeDtypeStruct((A, B), np.float32)
    program = make_olympuspr(
        lambda x: lax.reshape(lax.concatenate([x, x], 0), (2 * x.shape[0] * x.shape[1],))
    )(x)
    assert str(program.out_avals[0]) == "float32[2*a*b]"
    text = str(make_olympuspr(lambda x: x.shape[0] * 2)(x))
    assert "dim_as_value[dim=2*a]" in text
    with pytest.raises(TypeError, match="reshape"):
        make_olympuspr(lambda x: lax.reshape(x, (A, A)))(x)


# ---- what users write ----


def test_negative_numbers_in_operations():
    (a,) = symbolic_shape("a")
    assert str(a % -2) == "mod(a, - 2)"
    assert symbolic_shape(str(-3 // a), scope=a.scope) == (-3 // a,)


def test_specifications_with_leading_sign():
    a, b = symbolic_shape("+ a - b, -a + b")
    assert a == -b


@pytest.mark.parametrize(
    "spec, like, message",
    [
        ("3", (4,), "different size 3 for known dimension"),
        ("b, 3", (None, 4), "in dimension 1: different size 3"),
        ("_", (None,), "unexpected placeholder for unknown dimension"),
        ("b, 6, c, _", (4, 6, 7), "because we parsed 3 already and 'like' shape has only 3"),
        ("b, 7, c, ...", (4, 7), "different size 7|because we parsed 3 already"),
    ],
)
def test_shape_like_mismatch_raises(spec, like, message):
    with pytest.raises(ValueError, match=f"syntax error in symbolic shape .*({message})"):
        symbolic_shape(spec, like=like)


def test_scalar_arrays_and_booleans_are_integers():
    (a,) = symbolic_shape("a")
    assert a + np.array(2) == a + 2
    assert np.int64(2) * a == 2 * a
    assert a - True == a - 1
    assert max_dim(a, np.array(1)) == a
    with pytest.raises(TypeError):
        max_dim(a, 2.5)
    with pytest.raises(ValueError, match="cannot be raised to non-integer powers"):
        a**1.5


# ---- constraints ----


@pytest.mark.parametrize(
    "constraints",
    [
        ("a <= a - 1",),
        ("a <= 0",),
        ("a >= c + 1", "c >= 4", "a <= d + 2", "d <= 2"),
        ("a >= c + 1", "c >= b + 4", "a <= d + 2", "d <= b + 2"),
        ("max(a, b) == 5", "min(a, b) == 6"),
    ],
)
def test_unsatisfiable_constraints_raise(constraints):
    with pytest.raises(ValueError, match="Unsatisfiable.*"):
        a, b, _, _ = symbolic_shape("a, b, c, d", constraints=constraints)
        a >= b  # noqa: B015 - is decided, and finds it


@pytest.mark.parametrize("refused", ["a <= 7", "a == 3", "2*a + b <= 16", "mod(a, 2) == 5"])
def test_refused_constraints_leave_the_scope_unchanged(refused):
    scope = SymbolicScope(["a >= 8", "b <= 5"])
    a, b = symbolic_shape("a, b", scope=scope)
    shown = str(scope)
    with pytest.raises(ValueError, match="Unsatisfiable"):
        scope.assume(refused)
    assert str(scope) == shown
    assert a >= 8 and b <= 5 and scope.bounds_of(a)[1] == float("inf")
    assert (str(a), str(a % 2), str(2 * a)) == ("a", "mod(a, 2)", "2*a")
    scope.assume("a <= 9")
    assert scope.bounds_of(a) == (8, 9)


def test_bounds_of_terms_in_constraints_are_whole_numbers():
    a, b = symbolic_shape("a, b", constraints=["2*a + 3*b <= 10"])
    # 3*b <= 8, so b <= 2 and 2*b - a <= 3.
    assert b <= 2 and 2 * b - a <= 3


def test_equalities_of_extremes_bound_their_operands():
    a, b, c, d = symbolic_shape("a, b, c, d", constraints=["max(a, b) == c", "min(a, b) == d"])
    assert c >= a and c >= b and d <= a and d <= b


def test_multiples_of_opposite_numbers():
    (a,) = symbolic_shape("a", constraints=["mod(a + mod(a, 2), -2) == 0"])
    quotient, remainder = divmod(a + a % 2, 2)
    assert remainder == 0
    assert 2 * quotient == a + a % 2
