# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import re

import numpy as np
import pytest

from olympus_autodiff import grad, hessian, jacfwd, jacrev, value_and_grad
from olympus_batching import vmap
from olympus_ir import ShapedArray, lax
from olympus_ir.diagnostics.errors import ConcretizationTypeError, TracerArrayConversionError
from olympus_ir.programs.jit import jit
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.types import dtypes

X = np.arange(1, 4, dtype=np.float32)


def product(x, y):
    return lax.mul(x, y)


def total(x):
    return lax.reduce_sum(x, tuple(range(len(x.shape))))


def test_gradients_have_known_values():
    assert grad(lax.tanh)(0.0) == 1.0
    np.testing.assert_array_equal(grad(lambda x: total(lax.mul(x, x)))(X), 2 * X)


def test_weak_types_are_kept():
    assert repr(grad(lambda x: lax.mul(x, 3.0))(1.0)) == "Array(3., dtype=float32, weak_type=True)"
    assert repr(grad(lambda x: x)(1.0)) == "Array(1., dtype=float32, weak_type=True)"
    assert repr(grad(lambda x: x)(np.float32(1.0))) == "Array(1., dtype=float32)"


@pytest.mark.parametrize("dtype", [np.float16, dtypes.bfloat16, np.float32])
def test_dtypes_are_kept(dtype):
    assert grad(lambda x: lax.mul(x, x))(np.ones((), dtype)).dtype == dtype


def test_argnums_select_the_arguments():
    assert grad(product)(3.0, 2.0) == 2.0
    assert grad(product, argnums=1)(3.0, 2.0) == 3.0
    assert grad(product, argnums=-1)(3.0, 2.0) == 3.0
    assert grad(product, argnums=np.int32(1))(3.0, 2.0) == 3.0
    assert grad(product, argnums=(0, 1))(3.0, 2.0) == (2.0, 3.0)
    assert grad(product, argnums=[1])(3.0, 2.0) == (3.0,)


def test_keyword_and_undifferentiated_arguments():
    def f(x, y, name, *, scale):
        assert name == "anything"
        return lax.mul(product(x, y), scale)

    assert grad(f)(3.0, 2.0, "anything", scale=10.0) == 20.0


def test_gradients_have_the_structure_of_the_argument():
    gradient = grad(lambda tree: product(tree["a"], tree["b"][0]))({"a": 1.0, "b": (2.0, 3.0)})
    assert gradient == {"a": 2.0, "b": (1.0, 0.0)}


def test_values_aux_and_gradient():
    def f(x):
        return product(x, x), {"x": lax.add(x, 1.0)}

    assert value_and_grad(f, has_aux=True)(3.0) == ((9.0, {"x": 4.0}), 6.0)
    assert grad(f, has_aux=True)(3.0) == (6.0, {"x": 4.0})


def test_python_control_flow_sees_values():
    def f(x):
        while lax.lt(x, 10.0):
            x = product(x, x)
        return x

    assert grad(f)(2.0) == 32.0


def test_gradients_of_constants_are_zero():
    np.testing.assert_array_equal(grad(lambda x: 2.0)(X), [0, 0, 0])


def test_fan_out_and_zero_branches():
    def f(x):
        y = lax.sin(x)
        unused = lax.exp(y)
        return lax.add(lax.mul(y, y), lax.mul(lax.stop_gradient(unused), x))

    x = 0.3
    expected = 2 * np.sin(x) * np.cos(x) + np.exp(np.sin(x))
    np.testing.assert_allclose(grad(f)(x), expected, rtol=1e-6)


def test_higher_orders_have_known_values():
    f = lax.sin
    for expected in (np.cos(0.3), -np.sin(0.3), -np.cos(0.3), np.sin(0.3)):
        f = grad(f)
        np.testing.assert_allclose(f(0.3), expected, rtol=1e-5)


def test_with_vmap_and_jit():
    expected = np.cos(X)
    np.testing.assert_allclose(vmap(grad(lax.sin))(X), expected, rtol=1e-6)
    np.testing.assert_allclose(jit(vmap(grad(lax.sin)))(X), expected, rtol=1e-6)
    np.testing.assert_allclose(grad(lambda x: total(vmap(lax.sin)(x)))(X), expected, rtol=1e-6)
    np.testing.assert_allclose(grad(jit(lambda x: total(lax.sin(x))))(X), expected, rtol=1e-6)


def test_holomorphic_functions_have_complex_derivatives():
    def f(z):
        return lax.mul(z, z)

    assert grad(f, holomorphic=True)(3 + 1j) == 6 + 2j


def test_complex_argument_of_a_real_function():
    # The gradient of |z|^2 is twice the conjugate.
    gradient = grad(lambda z: lax.square(lax.abs(z)))(np.complex64(3 + 1j))
    np.testing.assert_allclose(gradient, 6 - 2j, rtol=1e-6)


def test_integers_have_float0_gradients_if_allowed():
    gradient = grad(lambda n: lax.convert_element_type(n, np.float32), allow_int=True)(3)
    assert gradient.dtype == dtypes.float0


def test_gradients_trace_to_short_programs():
    closed = trace_to_closed(
        lambda x: [grad(lambda x: total(lax.mul(lax.sin(x), 2.0)))(x)],
        [ShapedArray((3,), np.float32)],
    )
    assert str(closed) == (
        "{ lambda ; a:f32[3]. let\n"
        "    b:f32[3] = sin a\n"
        "    c:f32[3] = cos a\n"
        "    d:f32[3] = mul b 2.0:f32[]\n"
        "    _:f32[] = reduce_sum[axes=(0,) out_sharding=None] d\n"
        "    e:f32[3] = broadcast_in_dim 1.0:f32[]\n"
        "    f:f32[3] = mul e 2.0:f32[]\n"
        "    g:f32[3] = mul f c\n"
        "  in (g,) }"
    )


def test_name_and_documentation():
    def area(radius):
        """The area of a disc."""
        return lax.mul(radius, radius)

    gradient = grad(area, argnums=0)
    assert gradient.__name__ == "area"
    assert "Gradient of area with respect to positional argument(s) 0" in gradient.__doc__
    assert "The area of a disc." in gradient.__doc__
    assert "Value and gradient of area" in value_and_grad(area).__doc__


@pytest.mark.parametrize(
    "fun, args, message",
    [
        (lambda x: x, (X,), r"Output had shape: \(3,\)"),
        (lambda x: (x, x), (3.0,), r"Output was \(GradTracer"),
        (lambda x: "a", (3.0,), "Output was 'a'"),
        (lambda x: 3, (3.0,), "real-valued outputs .* got int32.*integer outputs, use .*vjp"),
        (lambda x: x, (3 + 1j,), "got complex64.*holomorphic=True"),
        (lambda x: x, (3,), "got int32.*vjp or set allow_int"),
        (lambda x: x, (True,), "got bool"),
        (lambda x: x, ("a",), "Argument 'a' of type <class 'str'> is not a valid"),
        (lambda x: x, (), "argnums=0 requires at least 1 positional arguments.*got only 0"),
    ],
)
def test_invalid_arguments_and_results_raise(fun, args, message):
    with pytest.raises(TypeError, match=message):
        grad(fun)(*args)


def test_invalid_options_raise():
    with pytest.raises(TypeError, match="Expected a callable value, got 3"):
        grad(3)
    with pytest.raises(TypeError, match="argnums=2 requires at least 3"):
        grad(product, argnums=2)(1.0, 2.0)
    with pytest.raises(ValueError, match="but got value -3 for len"):
        grad(product, argnums=-3)(1.0, 2.0)
    with pytest.raises(TypeError, match="argnums must be an integer or a tuple .* got .a.: "):
        grad(product, argnums="a")
    with pytest.raises(TypeError, match=r"two-element tuple, but got type .*LinearizeTracer"):
        grad(lambda x: x, has_aux=True)(1.0)
    with pytest.raises(NotImplementedError, match="reduce_axes is not supported"):
        grad(product, reduce_axes=("i",))
    with pytest.raises(TypeError, match="holomorphic=True requires inputs with complex dtype"):
        grad(lambda x: x, holomorphic=True)(1.0)
    with pytest.raises(TypeError, match="holomorphic=True requires outputs with complex dtype"):
        grad(lax.abs, holomorphic=True)(1 + 1j)


def test_functions_without_derivative_raise():
    with pytest.raises(
        NotImplementedError,
        match="Differentiation rule for 'nextafter' not implemented: .* its result differs",
    ):
        grad(lambda x: lax.nextafter(x, 2.0))(1.0)


@pytest.mark.parametrize(
    "function", [np.exp, np.asarray, lambda x: x.tolist(), lambda x: x.tobytes()]
)
def test_numpy_functions_of_differentiated_values_raise(function):
    """With a concrete value, NumPy would silently compute a constant."""
    with pytest.raises((TracerArrayConversionError, ConcretizationTypeError)):
        grad(lambda x: lax.mul(x[0], float(np.ravel(function(x))[0])))(np.ones(2, np.float32))


def test_values_are_concrete_outside_of_jit():
    seen = []
    grad(lambda x: (seen.append((int(x), x.item(), bool(x))), x)[1])(2.0)
    assert seen == [(2, 2.0, True)]


@pytest.mark.parametrize("part", [lax.real, lax.imag])
def test_gradients_of_parts_of_python_numbers_have_dtype(part):
    gradient = grad(lambda z: lax.mul(part(z), part(z)))(2 + 1j)
    assert gradient.dtype == np.complex64
    assert not gradient.weak_type
    assert grad(lambda x: lax.mul(x, x))(2.0).weak_type


@pytest.mark.parametrize("argnums", [(0, 0), (1, 0, 1), (0, -2)])
@pytest.mark.parametrize("derivative", [grad, value_and_grad, jacfwd, jacrev, hessian])
def test_repeated_argnums_raise(derivative, argnums):
    with pytest.raises(ValueError, match=f"{re.escape(str(argnums))} names an argument twice"):
        derivative(lax.mul, argnums=argnums)(2.0, 3.0)


@pytest.mark.parametrize("make", [grad, jacfwd, jacrev, hessian, value_and_grad])
@pytest.mark.parametrize(
    "given, path, mended",
    [
        (np.arange(3), "is int32[3]", "pass `params['layers'][0].astype('float32')`"),
        (3, "is int32[]", "pass `float(params['layers'][0])`"),
        ("relu", "is a str", "Remove params['layers'][0] from the argument"),
    ],
)
def test_errors_name_leaves_that_cannot_be_differentiated(make, given, path, mended):
    def loss(x, params):
        return x

    with pytest.raises(TypeError) as caught:
        make(loss, argnums=(0, 1))(1.0, {"bias": 0.0, "layers": [given]})
    message = str(caught.value)
    assert f"params['layers'][0] {path}" in message
    assert mended in message


def test_suggested_code_for_integer_leaves_works():
    def loss(params):
        return total(lax.mul(params["w"], params["w"]))

    params = {"w": np.arange(3)}
    with pytest.raises(TypeError) as caught:
        grad(loss)(params)
    mended = re.search("pass `(.*?)`", str(caught.value))
    assert mended is not None
    np.testing.assert_array_equal(grad(loss)({"w": eval(mended[1])})["w"], [0.0, 2.0, 4.0])


def test_errors_name_real_leaves_of_holomorphic_functions():
    with pytest.raises(TypeError, match=r"got float32: z\['real'\] is float32\[\]\."):
        grad(lambda z: z["real"], holomorphic=True)({"real": 1.0})


def test_primitives_without_any_rule():
    primitive = Primitive("without_rules")
    with pytest.raises(NotImplementedError, match="Differentiation rule for 'without_rules'"):
        grad(primitive.bind)(1.0)
