# SPDX-License-Identifier: Apache-2.0
"""Checks under every transformation; messages and precedence equal those of JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import olympus_checkify as checkify_package
from olympus_autodiff import checkpoint, custom_jvp, custom_linear_solve, custom_vjp, grad, jvp
from olympus_batching import vmap
from olympus_checkify import (
    OlympusRuntimeError,
    all_checks,
    check,
    check_error,
    checkify,
    debug_check,
    div_checks,
    index_checks,
    init_error,
    nan_checks,
)
from olympus_checkify.rules import elementwise as _elementwise  # noqa: F401 - the exemptions
from olympus_checkify.tables import error_rules
from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.primitives import Primitive


def f32(value: Any) -> np.ndarray:
    return np.asarray(value, np.float32)


def positive(x: Any) -> Any:
    check(lax.gt(x, f32(0)), "x must be positive, got {x}", x=x)
    return lax.sin(x)


def message(fun: Callable[..., Any], *args: Any, errors: Any = all_checks) -> str | None:
    error, _ = checkify(fun, errors=errors)(*args)
    return error.get()


def failed(value: float) -> str:
    return f"x must be positive, got {value} (`check` failed)"


def test_errors_are_results() -> None:
    error, out = checkify(positive)(f32(-1))
    assert error.get() == failed(-1.0)
    np.testing.assert_allclose(out, np.sin(f32(-1)))
    assert checkify(positive)(f32(1))[0].get() is None
    with pytest.raises(OlympusRuntimeError, match="x must be positive"):
        error.throw()
    assert type(error.get_exception()) is checkify_package.FailedCheckError
    assert init_error.get() is None and str(init_error) == "Error(None)"


def test_checks_raise_where_values_are_known() -> None:
    with pytest.raises(OlympusRuntimeError, match=r"got -1.0"):
        positive(f32(-1))
    with pytest.raises(OlympusRuntimeError, match=r"got -2.0"):
        vmap(positive)(f32([1, -2]))
    assert vmap(positive)(f32([1, 2])).shape == (2,)


def test_debug_checks_are_silent_without_checkify() -> None:
    def fun(x: Any) -> Any:
        debug_check(lax.gt(x, f32(0)), "no {x}", x=x)
        return x

    assert fun(f32(-1)) == -1
    assert jit(fun)(f32(-1)) == -1
    assert message(fun, f32(-1)) == "no -1.0 (`check` failed)"


def test_first_check_of_program_is_reported() -> None:
    def fun(x: Any) -> None:
        check(lax.gt(x, f32(5)), "first {x}", x=x)
        check(lax.gt(x, f32(6)), "second")

    assert message(fun, f32(1)) == "first 1.0 (`check` failed)"
    assert message(fun, f32(5.5)) == "second (`check` failed)"


def nested(x: Any) -> Any:
    return lax.cond(
        lax.gt(x, f32(0)), lambda x: positive(lax.sub(x, f32(2))), lambda x: positive(x), x
    )


def summed(x: Any) -> Any:
    return lax.scan(lambda carry, each: (positive(lax.add(carry, each)), carry), x, f32([1, -5, 2]))


def counted(x: Any) -> Any:
    def body(carry: Any) -> Any:
        check(lax.ne(carry, f32(3)), "c is {c}", c=carry)
        return lax.add(carry, f32(1))

    return lax.while_loop(lambda carry: lax.lt(carry, f32(5)), body, x)


def condition(x: Any) -> Any:
    def fails_at_three(carry: Any) -> Any:
        check(lax.ne(carry, f32(3)), "condition of {c}", c=carry)
        return lax.lt(carry, f32(5))

    return lax.while_loop(fails_at_three, lambda carry: lax.add(carry, f32(1)), x)


@custom_jvp
def with_jvp(x: Any) -> Any:
    return positive(x)


with_jvp.defjvp(lambda primals, tangents: (positive(primals[0]), lax.mul(f32(3), tangents[0])))


@custom_vjp
def with_vjp(x: Any) -> Any:
    return positive(x)


with_vjp.defvjp(lambda x: (positive(x), None), lambda _, ct: (lax.mul(f32(3), ct),))


@pytest.mark.parametrize(
    ("fun", "x", "expected"),
    [
        (jit(positive), -1, failed(-1.0)),
        (jit(lambda x: jit(positive)(x)), -1, failed(-1.0)),
        (nested, 1, failed(-1.0)),
        (nested, -2, failed(-2.0)),
        (nested, 3, None),
        (summed, 0, failed(-4.158529281616211)),
        (counted, 0, "c is 3.0 (`check` failed)"),
        (counted, 4, None),
        (condition, 0, "condition of 3.0 (`check` failed)"),
        (checkpoint(positive), -1, failed(-1.0)),
        (with_jvp, -1, failed(-1.0)),
        (with_vjp, -1, failed(-1.0)),
        (lambda x: grad(positive)(x), -1, failed(-1.0)),
        (lambda x: grad(with_jvp)(x), -1, failed(-1.0)),
        (lambda x: grad(with_vjp)(x), -1, failed(-1.0)),
        (lambda x: vmap(positive)(lax.concatenate([x[None], x[None]], 0)), -1, failed(-1.0)),
    ],
)
def test_errors_are_returned_from_nested_programs(fun: Any, x: float, expected: Any) -> None:
    if expected is not None and "got" in expected:
        expected = expected if "(" in expected else failed(float(expected))
    error, out = checkify(fun)(f32(x))
    assert error.get() == expected
    again, out_of_jit = jit(checkify(fun))(f32(x))
    assert again.get() == expected
    np.testing.assert_allclose(
        np.ravel(np.asarray(out[-1] if isinstance(out, tuple) else out)),
        np.ravel(np.asarray(out_of_jit[-1] if isinstance(out_of_jit, tuple) else out_of_jit)),
        rtol=1e-6,
    )


def test_rules_of_custom_derivatives_are_kept() -> None:
    for fun in (with_jvp, with_vjp):
        assert grad(lambda x, fun=fun: checkify(fun)(x)[1])(f32(1)) == 3
        assert grad(jit(lambda x, fun=fun: checkify(jit(fun))(x)[1]))(f32(1)) == 3


def test_vmap_of_checked_function_returns_errors_per_example() -> None:
    error, _ = vmap(checkify(positive))(f32([1, -2, 3, -4]))
    assert error.get() == (f"at mapped index 1: {failed(-2.0)}\nat mapped index 3: {failed(-4.0)}")
    error, _ = checkify(vmap(positive))(f32([1, -2, 3, -4]))
    assert error.get() == failed(-4.0)


@pytest.mark.parametrize("primitive", [lax.sin_p, lax.log_p, lax.sqrt_p, lax.exp_p])
def test_errors_name_operations_that_produce_nan(primitive: Any) -> None:
    expected = f"nan generated by primitive: {primitive.name}."
    assert message(primitive.bind, f32(np.nan), errors=nan_checks) == expected
    assert message(primitive.bind, f32(1), errors=nan_checks) is None


# JAX names the inner operation that made the NaN, because there the derivative is a program.
@pytest.mark.parametrize(("a", "x"), [(-1, 1), (0, 1), (1, -1)])
def test_nan_of_gamma_derivatives_is_reported(a: float, x: float) -> None:
    expected = "nan generated by primitive: random_gamma_grad."
    assert message(lax.random_gamma_grad, f32(a), f32(x), errors=nan_checks) == expected
    assert message(lax.random_gamma_grad, f32(2), f32(1), errors=nan_checks) is None


def test_results_of_unknown_primitives_are_checked() -> None:
    root_p = Primitive("my_root")
    root_p.def_impl(lambda x: lax.sqrt(x))
    root_p.def_abstract_eval(lambda x: x)
    assert message(root_p.bind, f32(-1)) == "nan generated by primitive: my_root."
    assert message(root_p.bind, f32(1)) is None


def test_elementwise_primitives_are_checked_by_their_declaration() -> None:
    root_p = Primitive("my_root")
    root_p.family, root_p.elementwise = "special", True
    root_p.def_abstract_eval(lambda x: x)
    root_p.def_impl(np.sqrt)
    with np.errstate(invalid="ignore"):
        assert message(root_p.bind, f32(-1)) == "nan generated by primitive: my_root."


@pytest.mark.parametrize(
    "primitive",
    [primitive for primitive, reason in error_rules.exemptions.items() if "finite" in reason],
    ids=str,
)
def test_exempt_operations_make_no_nan_of_finite_numbers(primitive: Primitive) -> None:
    largest = np.finfo(np.float32).max
    numbers = f32([0.0, -0.0, 1.5, -2.5, largest, -largest, 1e-45])
    pairs = np.meshgrid(numbers, numbers)
    operands: list[Any] = pairs if primitive.name in _EXEMPT_BINARY else [numbers]
    if primitive.name in ("real", "imag", "conj"):
        operands = [numbers + 1j * numbers[::-1]]
    result = primitive.bind(*operands, **_PARAMS_OF_EXEMPT.get(primitive.name, {}))
    assert not np.isnan(np.asarray(result)).any()


_EXEMPT_BINARY = ("add_any", "complex", "max", "min", "nextafter")
_PARAMS_OF_EXEMPT: dict[str, dict[str, Any]] = {
    "round": {"rounding_method": lax.RoundingMethod.TO_NEAREST_EVEN},
    "conj": {"input_dtype": np.dtype(np.complex64)},
}


def test_propagated_nan_is_not_reported() -> None:
    assert message(lambda x: lax.reshape(x, (1, 1)), f32([np.nan]), errors=nan_checks) is None
    assert message(lambda x: lax.max(x, f32(1)), f32(np.nan), errors=nan_checks) is None


def test_divisors_are_checked() -> None:
    assert message(lax.div, f32(1), f32(0), errors=div_checks) == "division by zero"
    assert message(lax.div, np.int32([1, 2]), np.int32([1, 0])) == "division by zero"
    assert message(lax.div, f32(1), f32(2), errors=div_checks) is None


def out_of_bounds(index: int, axis: int, shape: tuple[int, ...]) -> str:
    return (
        f"out-of-bounds indexing for array of shape {shape}: index {index} is out of bounds for "
        f"axis {axis} with size {shape[axis]}. "
    )


def test_slices_are_checked() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)

    def slice_at(row: int, column: int) -> str | None:
        starts = (np.int32(row), np.int32(column))
        return message(lambda x: lax.dynamic_slice(x, starts, (2, 2)), x, errors=index_checks)

    assert slice_at(1, 2) is None
    assert slice_at(2, 0) == out_of_bounds(2, 0, (3, 4))
    assert slice_at(0, 3) == out_of_bounds(3, 1, (3, 4))
    starts = (np.int32(2), np.int32(0))
    found = message(lambda x: lax.dynamic_update_slice(x, x[:2], starts), x, errors=index_checks)
    assert found == out_of_bounds(2, 0, (3, 4))


def test_gathers_and_scatters_are_checked() -> None:
    x = np.arange(3, dtype=np.float32)
    gather = lax.GatherDimensionNumbers((), (0,), (0,))
    scatter = lax.ScatterDimensionNumbers((), (0,), (0,))
    for indices, expected in ((np.int32([[0], [5]]), 5), (np.int32([[2], [0]]), None)):
        text = None if expected is None else out_of_bounds(expected, 0, (3,))
        assert message(lambda x, i: lax.gather(x, i, gather, (1,)), x, indices) == text
        assert message(lambda x, i: lax.scatter(x, i, x[:2], scatter), x, indices) == text


def test_only_the_selected_checks_are_made() -> None:
    assert message(lax.log, f32(-1), errors=index_checks) is None
    assert message(positive, f32(-1), errors=nan_checks) is None
    assert message(jit(positive), f32(-1), errors=nan_checks) is None


def test_errors_can_be_checked_again() -> None:
    error, _ = checkify(positive)(f32(-1))
    with pytest.raises(OlympusRuntimeError, match=r"got -1.0"):
        check_error(error)
    check_error(checkify(positive)(f32(1))[0])
    assert message(lambda x: check_error(checkify(positive)(x)[0]), f32(-1)) == failed(-1.0)
    with pytest.raises(TypeError, match="takes an Error"):
        check_error("no error")  # type: ignore[arg-type]


def test_bad_arguments_raise() -> None:
    with pytest.raises(TypeError, match="check takes a scalar pred as argument, got 1"):
        check(1, "a number")
    with pytest.raises(TypeError, match="check takes a scalar pred"):
        check(np.array([True, False]), "two of them")
    for value in ("text", 1.0, np.float32(1), True):
        with pytest.raises(TypeError, match="Formatting arguments to checkify.check need to be"):
            check(True, "{x}", x=value)


def test_derivatives_ignore_checks() -> None:
    assert jvp(positive, (f32(1),), (f32(1),))[1] == np.cos(f32(1))
    assert "check" in str(make_olympuspr(positive)(f32(1)))


def test_raised_errors_name_line_of_check():
    def fun(x):
        check(lax.gt(x, np.float32(0)), "not positive")  # the user's check
        return lax.log(x)

    failed, _ = checkify(jit(fun))(np.float32(-1))
    assert failed.get() == "not positive (`check` failed)"
    with pytest.raises(
        OlympusRuntimeError, match=r"\nat .*test_checkify.py:\d+ \(.*fun\)"
    ) as error:
        failed.throw()
    assert "# the user's check" in str(error.value)
    found, _ = checkify(lambda x: lax.log(x), errors=nan_checks)(np.float32(-1))
    with pytest.raises(OlympusRuntimeError, match=r"checkify\(lambda x: lax.log\(x\)"):
        check_error(found)


def test_solutions_of_linear_systems_are_checked_for_nan() -> None:
    def solve(b: Any) -> Any:
        return custom_linear_solve(
            lambda x: lax.mul(x, f32(0)), b, lambda _, b: lax.div(b, f32(0)), symmetric=True
        )

    assert message(solve, f32(0), errors=nan_checks) == (
        "nan generated by primitive: custom_linear_solve."
    )
