# SPDX-License-Identifier: Apache-2.0
"""`check_grads` finds wrong derivatives and accepts right ones."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_ir.settings import config
from olympus_testing import check_grads, check_jvp, check_vjp


class Dual:
    """Value with a tangent; sums and products propagate the tangent."""

    def __init__(self, value, tangent):
        self.value, self.tangent = value, tangent

    def __add__(self, other):
        other = _dual(other)
        return Dual(self.value + other.value, self.tangent + other.tangent)

    def __mul__(self, other):
        other = _dual(other)
        return Dual(
            self.value * other.value, self.value * other.tangent + self.tangent * other.value
        )

    __array_ufunc__ = None  # NumPy leaves operators to this class
    __radd__ = __add__
    __rmul__ = __mul__


def _dual(value):
    return value if isinstance(value, Dual) else Dual(value, value * 0)


def jvp(fun, primals, tangents):
    result = fun(*map(Dual, primals, tangents))
    return fun(*primals), result.tangent


def vjp(fun, *primals):
    """Returns the reverse of `jvp`, computed for one basis vector after the other."""

    def pullback(cotangent):
        cotangents = []
        for position, primal in enumerate(primals):
            gradient = np.zeros_like(primal)
            for place in np.ndindex(*primal.shape):
                basis = [np.zeros_like(other) for other in primals]
                basis[position][place] = 1
                gradient[place] = np.sum(cotangent * jvp(fun, primals, basis)[1])
            cotangents.append(gradient)
        return tuple(cotangents)

    return fun(*primals), pullback


def cubic(x, y):
    return x * x * x + x * y * y + 3.0 * y


@pytest.fixture(autouse=True)
def doubles():
    with config.enable_x64(True):
        yield


ARGS = (np.array([0.5, -1.5]), np.array([2.0, 0.3]))


def test_correct_derivatives_pass():
    check_grads(cubic, ARGS, order=2, jvp=jvp)
    check_vjp(cubic, ARGS, vjp=vjp)


def test_single_precision_is_accepted():
    with config.enable_x64(False):
        check_jvp(cubic, [arg.astype(np.float32) for arg in ARGS], jvp=jvp)


def test_complex_numbers_are_accepted():
    rotated = tuple(arg * (1 + 2j) for arg in ARGS)
    check_jvp(cubic, rotated, jvp=jvp)
    check_vjp(cubic, rotated, vjp=vjp)


def test_incorrect_tangents_are_detected():
    def wrong(fun, primals, tangents):
        result, tangent = jvp(fun, primals, tangents)
        return result, tangent * 1.001

    with pytest.raises(AssertionError, match="jvp and finite difference"):
        check_grads(cubic, ARGS, jvp=wrong)


def test_incorrect_results_are_detected():
    with pytest.raises(AssertionError, match="primal results of jvp"):
        check_grads(cubic, ARGS, jvp=lambda *args: (cubic(*ARGS) + 1, jvp(*args)[1]))


def test_incorrect_cotangents_are_detected():
    def wrong(fun, *primals):
        result, pullback = vjp(fun, *primals)
        return result, lambda cotangent: tuple(reversed(pullback(cotangent)))

    with pytest.raises(AssertionError, match="vjp and finite difference"):
        check_grads(cubic, ARGS, vjp=wrong)


def test_cotangents_of_wrong_type_are_detected():
    def wrong(fun, *primals):
        result, pullback = vjp(fun, *primals)
        return result, lambda cotangent: [x.astype(np.float32) for x in pullback(cotangent)]

    with pytest.raises(AssertionError, match=r"the cotangent of an argument float64\[2\]"):
        check_grads(cubic, ARGS, vjp=wrong)


def test_incorrect_second_derivatives_are_detected():
    def right_at_first_order_only(fun, primals, tangents):
        result, tangent = jvp(fun, primals, tangents)
        return result, tangent if fun is cubic else tangent * 2

    check_grads(cubic, ARGS, jvp=right_at_first_order_only)
    with pytest.raises(AssertionError, match="jvp and finite difference"):
        check_grads(cubic, ARGS, order=2, jvp=right_at_first_order_only)


def test_missing_transformation_raises():
    with pytest.raises(TypeError, match="give `jvp` or `vjp`"):
        check_grads(cubic, ARGS)
