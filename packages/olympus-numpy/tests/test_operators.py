# SPDX-License-Identifier: Apache-2.0
"""Operators and methods of arrays: results as in NumPy, and precedence with other operands."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_autodiff import jvp
from olympus_batching import vmap
from olympus_ir import make_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.settings import config
from olympus_ir.trees.pytrees import register_pytree_node

BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    divmod,
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]
BITWISE = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
UNARY = [operator.neg, operator.pos, operator.abs]


class Other:
    """Object that defines reflected operators, neither an array nor a scalar."""

    def __radd__(self, other):
        return "radd"

    def __rmatmul__(self, other):
        return "rmatmul"

    def __eq__(self, other):
        return "eq"

    def __gt__(self, other):
        return "gt"

    __hash__ = None


class Holder:
    """Object that an operator converts to an array."""

    def __olympus_array__(self):
        return jnp.arange(3.0)


class Box:
    """Pytree that converts itself to an array, and has some of the attributes of an array."""

    def __init__(self, array):
        self.array = array

    aval = property(lambda self: self.array.aval)
    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: self.array.dtype)

    def __olympus_array__(self):
        return self.array

    def __array__(self, dtype=None):
        return np.asarray(self.array, dtype)


register_pytree_node(Box, lambda box: ((box.array,), None), lambda _, children: Box(*children))


def jvp_of(fun):
    return lambda *args: jvp(fun, args, args)[0]


@pytest.mark.parametrize("transform", [lambda fun: fun, jit, vmap, jvp_of])
def test_operands_with_array_protocol_under_transformations(transform):
    x, y = np.array([1.5, -2.0], np.float32), np.array([2.0, 4.0], np.float32)

    def apply(op):
        return transform(lambda x, y: op(x, Box(y)))(jnp.asarray(x), jnp.asarray(y))

    close(apply(operator.add), x + y)
    close(apply(operator.truediv), x / y)
    close(apply(operator.mul), x * y)
    close(apply(lambda x, box: jnp.sin(box)), np.sin(y))
    close(apply(lambda x, box: x.at[...].set(box)), y)


def close(results, expected):
    pair = isinstance(results, tuple)
    for one, other in zip(
        results if pair else [results], expected if pair else [expected], strict=True
    ):
        assert isinstance(one, jnp.ndarray)
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-6)


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
def test_binary_operators_equal_those_of_numpy(op):
    x, y = np.array([1.5, -2.0, 3.0], np.float32), np.array([2.0, 3.0, 0.5], np.float32)
    x = np.abs(x) if op is operator.pow else x
    close(op(jnp.asarray(x), jnp.asarray(y)), op(x, y))
    close(op(jnp.asarray(x), y), op(x, y))
    close(op(jnp.asarray(x), 2), op(x, 2))
    close(op(2.5, jnp.asarray(y)), op(np.float32(2.5), y))
    close(op(jnp.asarray(x)[0], np.float32(2)), op(x[0], np.float32(2)))


@pytest.mark.parametrize("op", BITWISE, ids=lambda op: op.__name__)
def test_bitwise_operators_equal_numpy(op):
    x, y = np.array([6, 5, 1], np.int32), np.array([1, 3, 2], np.int32)
    close(op(jnp.asarray(x), jnp.asarray(y)), op(x, y))
    close(op(jnp.asarray(x), 1), op(x, 1))
    close(op(3, jnp.asarray(y)), op(3, y))


@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.__name__)
def test_unary_operators_equal_numpy(op):
    x = np.array([1.5, -2.0], np.float32)
    close(op(jnp.asarray(x)), op(x))


def test_inversion_and_matrix_product():
    close(~jnp.array([True, False]), np.array([False, True]))
    close(~jnp.array([1, 2]), np.array([-2, -3]))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    close(jnp.asarray(x) @ x.T, x @ x.T)
    close(jnp.asarray(x).__rmatmul__(x.T), x.T @ x)


def test_operators_under_a_trace():
    program = make_olympuspr(lambda x: (2 - x, x**2, x @ x, x > 1, divmod(x, 2)))(jnp.ones(3))
    names = [equation.primitive.name for equation in program.jaxpr.eqns]
    assert names[:4] == ["sub", "integer_pow", "dot_general", "gt"]


def test_unknown_operands_get_reflected_operators():
    x = jnp.arange(3)
    assert x + Other() == "radd"
    assert x @ Other() == "rmatmul"
    assert (x == Other()) == "eq"
    assert (x < Other()) == "gt"
    assert (x == None) is False  # noqa: E711
    assert (x != "text") is True


def test_operands_with_array_protocol():
    close(jnp.ones(3) + Holder(), np.array([1.0, 2.0, 3.0]))
    close(jnp.add(Holder(), 1), np.array([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("container", [[0, 1, 2], (0, 1, 2), {}, set()], ids=repr)
def test_containers_are_refused(container):
    x = jnp.arange(3)
    for op in (operator.add, operator.mul, operator.eq, operator.ne):
        with pytest.raises(TypeError, match="unsupported operand type"):
            op(x, container)
    for op in (operator.add, operator.mul):
        with pytest.raises(TypeError, match="unsupported operand type"):
            op(container, x)
    with pytest.raises(TypeError):
        x < container  # noqa: B015


@pytest.mark.parametrize("other", [None, "text", object()], ids=["none", "text", "object"])
def test_unsupported_operands_raise_type_errors(other):
    for op in (operator.add, operator.sub, operator.matmul, operator.and_, operator.lt):
        with pytest.raises(TypeError):
            op(jnp.arange(3), other)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (
            "add",
            ([1, 2], 3),
            r"add requires ndarray or scalar arguments, got .*list.* at position 0",
        ),
        (
            "add",
            (1, (2,)),
            r"add requires ndarray or scalar arguments, got .*tuple.* at position 1",
        ),
        ("sin", ("text",), "problematic value is of type .*str"),
        ("sum", ([1, 2],), r"sum requires ndarray or scalar arguments, got .*list.* at position 0"),
        ("where", (True, None, 1), "all of the condition, `x` and `y`"),
    ],
)
def test_errors_name_the_non_array_argument(function, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        getattr(jnp, function)(*arguments)


def test_scalar_arrays_convert_to_python_numbers():
    assert int(jnp.array(3)) == 3
    assert float(jnp.array(2.5)) == 2.5
    assert complex(jnp.array(2.5)) == 2.5
    assert bool(jnp.array(1)) is True
    assert range(9)[jnp.array(3)] == 3
    assert f"{jnp.array(2.0):.2f}" == "2.00"
    assert len(jnp.ones((2, 3))) == 2
    assert [row.shape for row in jnp.ones((2, 3))] == [(3,), (3,)]
    assert 2 in jnp.arange(3)
    assert round(jnp.array(2.5)) == 2
    with pytest.raises(ValueError, match="ambiguous"):
        bool(jnp.arange(2))
    with pytest.raises(TypeError, match="unhashable"):
        hash(jnp.arange(2))
    with pytest.raises(TypeError, match="unsized"):
        len(jnp.array(1))
    with pytest.raises(TypeError, match="immutable"):
        jnp.arange(2)[0] = 1


REDUCTIONS = "sum mean std var prod max min any all argmax argmin cumsum cumprod".split()


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction_methods_equal_numpy(name):
    x = np.array([[3.0, 1.0, 2.0], [0.5, 0.0, 1.5]], np.float32)
    close(getattr(jnp.asarray(x), name)(), getattr(x, name)())
    close(getattr(jnp.asarray(x), name)(1), getattr(x, name)(1))
    if not name.startswith("cum"):
        close(
            getattr(jnp.asarray(x), name)(axis=0, keepdims=True),
            getattr(x, name)(axis=0, keepdims=True),
        )


METHODS = [
    lambda x: x.reshape(3, 2),
    lambda x: x.reshape((-1, 1)),
    lambda x: x.reshape(6),
    lambda x: x.ravel(),
    lambda x: x.flatten(),
    lambda x: x.T,
    lambda x: x.transpose(),
    lambda x: x.transpose(1, 0),
    lambda x: x.transpose((1, 0)),
    lambda x: x.swapaxes(0, 1),
    lambda x: x.squeeze(),
    lambda x: x.repeat(2, axis=1),
    lambda x: x.take(np.array([2, 0]), axis=1),
    lambda x: x.clip(0.5, 2),
    lambda x: x.round(),
    lambda x: x.dot(x.T),
    lambda x: x.trace(),
    lambda x: x.diagonal(),
    lambda x: x.argsort(),
    lambda x: x.conj(),
    lambda x: x.real,
    lambda x: x.imag,
    lambda x: x.copy(),
    lambda x: x.astype(np.int32),
    lambda x: x.compress(np.array([True, False]), axis=0),
    lambda x: x.nonzero(),
    lambda x: x[0].searchsorted(x[1]),
]


@pytest.mark.parametrize("method", METHODS)
def test_methods_equal_numpy(method):
    x = np.array([[0.5, 1.25, 2.0], [3.0, 0.0, 1.5]], np.float32)
    close(method(jnp.asarray(x)), method(x))


def test_sort_returns_a_new_array():
    x = jnp.array([3.0, 1.0, 2.0])
    close(x.sort(), np.array([1.0, 2.0, 3.0]))
    close(x.sort(descending=True), np.array([3.0, 2.0, 1.0]))
    close(x, np.array([3.0, 1.0, 2.0]))


def test_properties_describe_shape_and_memory():
    x = jnp.ones((2, 3, 4), jnp.float16)
    assert (x.ndim, x.size, x.nbytes, x.itemsize) == (3, 24, 48, 2)
    assert x.mT.shape == (2, 4, 3)
    with pytest.raises(ValueError, match="at least two-dimensional"):
        _ = jnp.ones(3).mT
    assert x.__array_namespace__() is not None


@pytest.mark.parametrize("dtype", ["uint32", "int8", "float16", "bfloat16"])
def test_views_have_the_bytes_of_numpy(dtype):
    x = np.arange(8, dtype=np.int32)
    result = jnp.asarray(x).view(dtype)
    expected = x.view(jnp.dtype(dtype))
    assert result.dtype == expected.dtype
    assert np.asarray(result).tobytes() == expected.tobytes()


def test_values_on_the_host():
    x = jnp.array([[1, 2], [3, 4]])
    assert x.tolist() == [[1, 2], [3, 4]]
    assert x.item(1, 0) == 3
    assert x.item(3) == 4
    assert jnp.array(2.5).item() == 2.5
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    assert np.add(np.ones((2, 2)), x).tolist() == [[2, 3], [4, 5]]


def test_out_and_memory_order_raise():
    x = jnp.ones(3)
    for name in ("sum", "mean", "max", "cumsum"):
        with pytest.raises(NotImplementedError, match="out"):
            getattr(x, name)(out=x)
    with pytest.raises(NotImplementedError, match="order"):
        x.ravel(order="K")


def test_precision_of_matrix_products():
    def precision(*arguments, **keywords):
        program = make_olympuspr(lambda x: jnp.matmul(x, x, *arguments, **keywords))(
            jnp.ones((2, 2))
        )
        return str(program.jaxpr.eqns[0].params["precision"])

    assert precision() == "None"
    assert "HIGHEST" in precision(precision="highest")
    with config.default_matmul_precision("highest"):
        assert "HIGHEST" in precision()


def test_known_negative_exponents_of_integers_are_refused():
    exponents = np.array([-1, 1, 2])
    for power in (jnp.power, lambda x, y: x**y, jit(lambda x, y: x**exponents)):
        with pytest.raises(TypeError, match="Integers cannot be raised to negative powers"):
            power(jnp.arange(3), exponents)
    np.testing.assert_array_equal(jnp.array([1.0, 2.0, 4.0]) ** exponents, [1.0, 2.0, 16.0])
