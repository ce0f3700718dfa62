# SPDX-License-Identifier: Apache-2.0
"""Types of values that consist of arrays, in compiled and differentiated functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus.core import ShapedArray
from olympus.experimental.hijax import HiPrimitive, HiType, VJPHiPrimitive, register_hitype


@dataclass(frozen=True)
class Quantized:
    """Matrix of small integers with a scale for each row."""

    integers: object
    scales: object


@dataclass(frozen=True)
class QuantizedType(HiType):
    shape: tuple[int, ...]

    def str_short(self, *args, **kwargs):
        return f"Quantized{list(self.shape)}"

    def lo_ty(self):
        integers = ShapedArray(self.shape, np.dtype("int8"))
        return [integers, ShapedArray(self.shape[:1], np.dtype("float32"))]

    def lower_val(self, value):
        return [value.integers, value.scales]

    def raise_val(self, integers, scales):
        return Quantized(integers, scales)

    def to_tangent_aval(self):
        return ShapedArray(self.shape, np.dtype("float32"))


register_hitype(Quantized, lambda value: QuantizedType(value.integers.shape))


class Quantize(HiPrimitive):
    def abstract_eval(self, x):
        return QuantizedType(x.shape), set()

    def to_lojax(self, x):
        scales = jnp.max(jnp.abs(x), axis=1) / 127
        return Quantized(jnp.round(x / scales[:, None]).astype("int8"), scales)

    def jvp(self, primals, tangents):
        return quantize(*primals), *tangents

    def transpose(self, cotangent, x):
        return [cotangent]


class Dequantize(HiPrimitive):
    def abstract_eval(self, q):
        return ShapedArray(q.shape, np.dtype("float32")), set()

    def to_lojax(self, q):
        return q.integers.astype("float32") * q.scales[:, None]

    def jvp(self, primals, tangents):
        return dequantize(*primals), *tangents

    def transpose(self, cotangent, q):
        return [cotangent]


quantize_p, dequantize_p = Quantize("quantize"), Dequantize("dequantize")
quantize, dequantize = quantize_p.bind, dequantize_p.bind

X = np.arange(1, 7, dtype=np.float32).reshape(2, 3)


def assert_near(found, expected):
    np.testing.assert_allclose(found, expected, atol=np.max(np.abs(expected)) / 100)


def test_arguments_and_results_of_compiled_functions():
    q = olympus.jit(quantize)(X)
    assert isinstance(q, Quantized) and q.integers.dtype == np.int8
    assert_near(olympus.jit(dequantize)(q), X)
    assert_near(olympus.jit(dequantize)(q), X)  # this call takes the program from the cache
    again = olympus.jit(lambda q: q)(q)
    np.testing.assert_array_equal(again.integers, q.integers)
    found = olympus.jit(lambda tree: dequantize(tree["q"]) + tree["x"])({"q": q, "x": 1.0})
    assert_near(found, X + 1)


def test_ahead_of_time():
    q = quantize(X)
    lowered = olympus.jit(lambda q, x: (quantize(dequantize(q) + x), x)).lower(q, X)
    assert "tensor<2x3xi8>" in lowered.as_text()
    compiled = lowered.compile()
    total, x = compiled(q, X)
    assert_near(dequantize(total), 2 * X)
    np.testing.assert_array_equal(x, X)
    with pytest.raises(TypeError, match="Argument types differ"):
        compiled(quantize(X[:1]), X)


def test_inside_compiled_functions():
    assert_near(olympus.jit(lambda x: dequantize(quantize(x)))(X), X)
    q = quantize(X)
    assert_near(olympus.jit(lambda: dequantize(q))(), X)
    nested = olympus.jit(lambda q: olympus.jit(dequantize)(q) * 2)
    assert_near(nested(q), 2 * X)


def test_programs_show_the_type():
    program = olympus.make_jaxpr(lambda x: dequantize(quantize(x)))(X)
    assert "b:Quantized[2, 3] = quantize a" in str(program)


@pytest.mark.parametrize("compiled", [False, True])
def test_control_flow_carries_high_types(compiled):
    def doubled(q):
        return quantize(dequantize(q) * 2)

    def scan(q):
        return olympus.lax.scan(lambda q, x: (doubled(q), dequantize(q).sum() + x), q, jnp.zeros(2))

    def loop(q):
        return olympus.lax.fori_loop(0, 3, lambda _, q: doubled(q), q)

    def choice(q):
        return olympus.lax.cond(q is not None, lambda q: doubled(q), lambda q: q, q)

    wrap = olympus.jit if compiled else (lambda fun: fun)
    q = quantize(X)
    carry, sums = wrap(scan)(q)
    assert_near(dequantize(carry), 4 * X)
    assert_near(sums, [X.sum(), 2 * X.sum()])
    assert_near(dequantize(wrap(loop)(q)), 8 * X)
    assert_near(dequantize(wrap(choice)(q)), 2 * X)


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_pass_through_high_types(compiled):
    wrap = olympus.jit if compiled else (lambda fun: fun)
    found = wrap(olympus.grad(lambda x: (dequantize(quantize(x)) ** 2).sum()))(X)
    assert_near(found, 2 * X)
    checkpointed = olympus.checkpoint(lambda x: (dequantize(quantize(x)) ** 2).sum())
    assert_near(wrap(olympus.grad(checkpointed))(X), 2 * X)
    # The gradient with respect to such a value has the type of its tangents.
    found = wrap(olympus.grad(lambda q: dequantize(q).sum()))(quantize(X))
    np.testing.assert_array_equal(found, np.ones((2, 3)))


def test_shapes_of_high_types_are_inferred():
    assert olympus.eval_shape(quantize, X) == QuantizedType((2, 3))


def test_primitives_without_rule_for_the_type_raise():
    with pytest.raises(Exception, match=r"exp|Quantized"):
        olympus.jit(olympus.lax.exp)(quantize(X))


# ---- primitives that are instances ----


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "fun",
    [
        jnp.sin,
        lambda q: jnp.reshape(q, -1),
        lambda q: jnp.concatenate([q, q]),
        lambda q: jnp.where(True, q, q),
        jnp.sum,
        olympus.nn.softmax,
    ],
)
def test_array_functions_of_high_types_raise(fun, compiled):
    """In JAX 0.10.2 these are TypeErrors with the same fragment."""
    value = Quantized(jnp.ones((2, 3), "int8"), jnp.ones(2))
    with pytest.raises(TypeError, match="requires ndarray or scalar arguments"):
        (olympus.jit(fun) if compiled else fun)(value)
    known = []
    olympus.jit(lambda q: known.append(hasattr(q, "dtype")))(value)
    assert known == [False]


class Power(VJPHiPrimitive):
    def __init__(self, aval, exponent):
        self.in_avals, self.out_aval = (aval,), aval
        self.params = {"exponent": exponent}
        super().__init__()

    def expand(self, x):
        return x**self.exponent

    def vjp_fwd(self, nzs_in, x):
        assert nzs_in == (True,)
        return self(x), x

    def vjp_bwd_retval(self, x, cotangent):
        return (10.0 * cotangent * x,)

    def jvp(self, primals, tangents):
        (x,), (t,) = primals, tangents
        return self(x), 20.0 * x * t


def power(x, exponent=3):
    return Power(olympus.typeof(x), exponent)(x)


def test_instances_are_applied():
    assert float(power(2.0)) == 8.0 and float(olympus.jit(power)(2.0)) == 8.0
    program = str(olympus.make_jaxpr(power)(2.0))
    assert "call_hi_primitive[_prim=Power[{'exponent': 3}]] a" in program


@pytest.mark.parametrize("compiled", [False, True])
def test_instances_have_custom_derivatives(compiled):
    wrap = olympus.jit if compiled else (lambda fun: fun)
    assert float(wrap(olympus.grad(power))(2.0)) == 20.0
    assert float(wrap(lambda x: olympus.jvp(power, (x,), (1.0,))[1])(2.0)) == 40.0


def test_instances_are_mapped():
    np.testing.assert_array_equal(olympus.vmap(power)(jnp.arange(3.0)), [0, 1, 8])
    found = olympus.vmap(olympus.grad(power))(jnp.arange(3.0))
    np.testing.assert_array_equal(found, [0, 10, 20])


class Linearized(Power):
    def lin(self, nzs_in, x):
        return x**3, x

    def linearized(self, x, tangent):
        return 3.0 * x * x * tangent


def test_linearization_uses_the_method_of_the_primitive():
    primitive = Linearized(olympus.typeof(2.0), 3)
    result, derivative = olympus.linearize(primitive, 2.0)
    assert float(result) == 8.0 and float(derivative(1.0)) == 12.0
    assert float(olympus.grad(primitive)(2.0)) == 12.0


class Accumulating(Power):
    def vjp_bwd(self, x, cotangent, accumulator):
        accumulator.accum(cotangent * x)
        accumulator.accum(cotangent)


def test_cotangents_are_accumulated():
    assert float(olympus.grad(Accumulating(olympus.typeof(2.0), 3))(2.0)) == 3.0


class Mapped(Power):
    def batch(self, axis_data, args, dims):
        assert axis_data.size == 3 and dims == (1,)
        (x,) = args
        return x + 1, 1


def test_batching_uses_the_method_of_the_primitive():
    found = olympus.vmap(Mapped(ShapedArray((2,), np.dtype("float32")), 2), 1)(jnp.zeros((2, 3)))
    np.testing.assert_array_equal(found, np.ones((3, 2)))


def test_primitives_may_have_several_results():
    class Pair(VJPHiPrimitive):
        def __init__(self, aval):
            self.in_avals, self.out_aval, self.params = (aval,), {"a": aval, "b": (aval,)}, {}
            super().__init__()

        def expand(self, x):
            return {"a": x, "b": (x + 1,)}

    found = Pair(olympus.typeof(1.0))(1.0)
    assert float(found["a"]) == 1.0 and float(found["b"][0]) == 2.0


def test_instances_are_compared():
    aval = olympus.typeof(1.0)
    assert Power(aval, 2) == Power(aval, 2) and hash(Power(aval, 2)) == hash(Power(aval, 2))
    assert Power(aval, 2) != Power(aval, 3)


def test_missing_methods_are_named():
    class Nothing(VJPHiPrimitive):
        def __init__(self, aval):
            self.in_avals, self.out_aval, self.params = (aval,), aval, {}
            super().__init__()

    nothing = Nothing(olympus.typeof(1.0))
    for use, method in (
        (lambda: nothing(1.0), "expand"),
        (lambda: olympus.grad(nothing)(1.0), "vjp_fwd"),
        (lambda: olympus.jvp(nothing, (1.0,), (1.0,)), "jvp"),
    ):
        with pytest.raises(NotImplementedError, match=f"must implement `{method}`"):
            use()

    class Untyped(VJPHiPrimitive):
        pass

    with pytest.raises(TypeError, match="must set `in_avals`"):
        Untyped()


# ---- types whose tangents are of high types ----


@dataclass(frozen=True)
class Pair:
    first: object
    second: object


@dataclass(frozen=True)
class PairType(HiType):
    first: object
    second: object

    def str_short(self, *args, **kwargs):
        return f"Pair[{self.first.str_short()}, {self.second.str_short()}]"

    def lo_ty(self):
        return [self.first, self.second]

    def lower_val(self, pair):
        return [pair.first, pair.second]

    def raise_val(self, first, second):
        return Pair(first, second)

    def to_tangent_aval(self):
        return PairType(self.first.to_tangent_aval(), self.second.to_tangent_aval())

    def leading_axis_spec(self):
        return 0

    def dec_rank(self, size, spec):
        return PairType(self.first.dec_rank(size, spec), self.second.dec_rank(size, spec))

    def inc_rank(self, size, spec):
        return PairType(self.first.inc_rank(size, spec), self.second.inc_rank(size, spec))

    def vspace_zero(self):
        return Pair(jnp.zeros(self.first.shape), jnp.zeros(self.second.shape))

    def vspace_add(self, x, y):
        return pair(*(part(x, place) + part(y, place) for place in (0, 1)))


register_hitype(Pair, lambda p: PairType(olympus.typeof(p.first), olympus.typeof(p.second)))


class MakePair(VJPHiPrimitive):
    def __init__(self, first, second):
        self.in_avals, self.out_aval = (first, second), PairType(first, second)
        self.params = {}
        super().__init__()

    def expand(self, first, second):
        return Pair(first, second)

    def vjp_fwd(self, nzs_in, first, second):
        return pair(first, second), None

    def vjp_bwd_retval(self, _, ct):
        return part(ct, 0), part(ct, 1)


class Part(VJPHiPrimitive):
    def __init__(self, aval, place):
        self.in_avals, self.out_aval = (aval,), aval.lo_ty()[place]
        self.params = {"place": place}
        super().__init__()

    def expand(self, p):
        return (p.first, p.second)[self.place]

    def vjp_fwd(self, nzs_in, p):
        return self(p), None

    def vjp_bwd_retval(self, _, ct):
        parts = [jnp.zeros_like(ct), jnp.zeros_like(ct)]
        parts[self.place] = ct
        return (pair(*parts),)


def pair(first, second):
    return MakePair(olympus.typeof(first), olympus.typeof(second))(first, second)


def part(p, place):
    return Part(olympus.typeof(p), place)(p)


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_of_high_types(compiled):
    wrap = olympus.jit if compiled else (lambda fun: fun)

    def product(p):
        return part(p, 0) * part(p, 1) ** 2

    for function in (product, olympus.checkpoint(product)):
        found = wrap(olympus.grad(function))(Pair(2.0, 3.0))
        assert isinstance(found, Pair) and (found.first, found.second) == (9, 12)
    unused = wrap(olympus.grad(lambda p, x: x))(Pair(2.0, 3.0), 1.0)
    assert (unused.first, unused.second) == (0, 0)


@pytest.mark.parametrize("compiled", [False, True])
def test_loops_over_slices_of_high_types(compiled):
    wrap = olympus.jit if compiled else (lambda fun: fun)
    xs = Pair(jnp.arange(3.0), jnp.arange(3.0) * 2)

    def loop(xs):
        def step(total, p):
            return total + part(p, 0), pair(part(p, 1), total)

        return olympus.lax.scan(step, 0.0, xs)

    total, ys = wrap(loop)(xs)
    assert total == 3
    np.testing.assert_array_equal(ys.first, [0, 2, 4])
    np.testing.assert_array_equal(ys.second, [0, 0, 1])


@dataclass(frozen=True)
class Rows:
    values: object
    scale: object


class RowsSpec:
    """Specification of examples along the first dimension."""


@dataclass(frozen=True)
class RowsType(HiType):
    shape: tuple

    def lo_ty(self):
        return [ShapedArray(self.shape, np.int8), ShapedArray(self.shape[:-1], np.float32)]

    def lower_val(self, value):
        return [value.values, value.scale]

    def raise_val(self, values, scale):
        return Rows(values, scale)

    def dec_rank(self, size, spec):
        assert isinstance(spec, RowsSpec) and size == self.shape[0]
        return RowsType(self.shape[1:])


class ToRows(VJPHiPrimitive):
    def __init__(self, aval):
        self.in_avals, self.out_aval, self.params = (aval,), RowsType(aval.shape), {}
        super().__init__()

    def expand(self, x):
        scale = jnp.max(jnp.abs(x), -1) / 127
        return Rows(jnp.round(x / scale[..., None]).astype(np.int8), scale)

    def batch(self, axis_data, args, dims):
        return ToRows(olympus.typeof(args[0]))(*args), RowsSpec()


class FromRows(VJPHiPrimitive):
    def __init__(self, aval):
        self.in_avals, self.params = (aval,), {}
        self.out_aval = ShapedArray(aval.shape, np.float32)
        super().__init__()

    def expand(self, quantized):
        return quantized.values.astype(np.float32) * quantized.scale[..., None]

    def batch(self, axis_data, args, dims):
        assert isinstance(dims[0], RowsSpec)
        return FromRows(olympus.typeof(args[0]))(*args), 0


def test_values_of_high_types_under_vmap():
    register_hitype(Rows, lambda q: RowsType(q.values.shape))

    def roundtrip(x):
        quantized = ToRows(olympus.typeof(x))(x)
        assert olympus.typeof(quantized) == RowsType(x.shape)
        return FromRows(olympus.typeof(quantized))(quantized)

    x = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    scale = np.abs(x).max(-1, keepdims=True) / np.float32(127)
    expected = np.round(x / scale) * scale
    for function in (olympus.vmap(roundtrip), olympus.jit(olympus.vmap(roundtrip)), roundtrip):
        np.testing.assert_allclose(function(x), expected, rtol=1e-6)
