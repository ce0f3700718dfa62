# SPDX-License-Identifier: Apache-2.0
"""Conversion of functions to and from TensorFlow, and the error if it is not installed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus_export.jax2tf import convert


@pytest.fixture
def both():
    tf = pytest.importorskip("tensorflow")
    from olympus.experimental import jax2tf  # needs TensorFlow

    return tf, jax2tf


def test_missing_tensorflow_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(ImportError, match="pip install tensorflow"):
        convert(jnp.sin)(1.0)


# ---- functions for TensorFlow ----


def test_values_and_structures(both):
    tf, jax2tf = both
    fun = jax2tf.convert(lambda tree, y: {"sum": tree["x"] + y, "rest": (jnp.sin(y),)})
    found = fun({"x": np.ones(2, np.float32)}, 2.0)
    np.testing.assert_allclose(found["sum"], [3, 3])
    np.testing.assert_allclose(found["rest"][0], np.sin(2.0), rtol=1e-6)
    assert isinstance(found["sum"], tf.Tensor)
    graph = tf.function(jax2tf.convert(jnp.cumsum), autograph=False)
    np.testing.assert_allclose(graph(tf.range(4)), [0, 1, 3, 6])


def test_gradient_tapes_differentiate_converted_functions(both):
    tf, jax2tf = both
    x = tf.Variable(2.0)
    fun = jax2tf.convert(lambda x, n: jnp.sin(x) * x * n)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = fun(x, 3)
        first = inner.gradient(y, x)
    np.testing.assert_allclose(first, 3 * (np.sin(2) + 2 * np.cos(2)), rtol=1e-5)
    second = outer.gradient(first, x)
    np.testing.assert_allclose(second, 3 * (2 * np.cos(2) - 2 * np.sin(2)), rtol=1e-5)
    with tf.GradientTape() as tape:
        y = jax2tf.convert(jnp.sin, with_gradient=False)(x)
    with pytest.raises(LookupError, match="does not support gradients"):
        tape.gradient(y, x)


def test_polymorphic_shapes_accept_every_size(both):
    tf, jax2tf = both
    signature = [tf.TensorSpec([None, 3], tf.float32)]

    def compiled(**options):
        fun = jax2tf.convert(lambda x: x.sum(0) / x.shape[0], **options)
        return tf.function(fun, input_signature=signature, autograph=False)

    for shapes in (["b, _"], "(b, _)", [jax2tf.PolyShape("b", "_")]):
        mean = compiled(polymorphic_shapes=shapes)
        for size in (2, 5):
            np.testing.assert_allclose(mean(tf.ones((size, 3))), [1, 1, 1])
    with pytest.raises(ValueError, match="Name it by a variable"):
        compiled()(tf.ones((2, 3)))


def test_saved_models_hold_converted_functions(both, tmp_path):
    tf, jax2tf = both
    module = tf.Module()
    module.call = tf.function(
        jax2tf.convert(lambda x: jnp.dot(x, x)),
        input_signature=[tf.TensorSpec([3], tf.float32)],
        autograph=False,
    )
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    np.testing.assert_allclose(loaded.call(tf.constant([1.0, 2.0, 3.0])), 14.0)


def test_dtypes_of_values_are_those_of_tensorflow(both):
    tf, jax2tf = both
    assert jax2tf.dtype_of_val(3) == tf.int32 and jax2tf.dtype_of_val(True) == tf.bool
    assert jax2tf.dtype_of_val(np.float64(3)) == tf.float32
    assert jax2tf.dtype_of_val(jnp.ones(2, jnp.bfloat16)) == tf.bfloat16
    assert jax2tf.dtype_of_val(tf.ones(2, tf.float64)) == tf.float32


def test_shapes_of_results(both):
    _, jax2tf = both
    evaluate = jax2tf.eval_polymorphic_shape(
        lambda x, y: (x + 1, x @ y), polymorphic_shapes=["(a, b)", "(b, c)"]
    )
    struct = olympus.ShapeDtypeStruct
    types, texts = evaluate(struct((3, 4), np.float32), struct((4, 5), np.float32))
    assert texts == ("(a, b)", "(a, c)") and str(types[1].shape) == "(a, c)"


def test_options_without_effect(both):
    _, jax2tf = both
    for option in ("enable_xla", "native_serialization"):
        with pytest.warns(DeprecationWarning, match=option):
            jax2tf.convert(jnp.sin, **{option: True})


# ---- functions of TensorFlow ----


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("options", [{}, {"has_side_effects": False}, {"call_tf_graph": True}])
def test_tensorflow_functions_can_be_called(both, compiled, options):
    tf, jax2tf = both
    wrap = olympus.jit if compiled else (lambda fun: fun)
    sine = jax2tf.call_tf(tf.math.sin, **options)
    np.testing.assert_allclose(wrap(sine)(jnp.float32(1)), np.sin(1), rtol=1e-6)
    np.testing.assert_allclose(wrap(olympus.grad(sine))(1.0), np.cos(1), rtol=1e-6)


def test_structures_of_calls(both):
    tf, jax2tf = both
    fun = jax2tf.call_tf(lambda tree, n: {"y": tree["x"] * tf.cast(n, tf.float32), "n": n})
    found = olympus.jit(fun)({"x": jnp.ones(2)}, 3)
    np.testing.assert_allclose(found["y"], [3, 3])
    assert int(found["n"]) == 3
    gradient = olympus.grad(lambda x: fun({"x": x}, 3)["y"].sum())(jnp.ones(2))
    np.testing.assert_allclose(gradient, [3, 3])


def test_called_functions_can_be_mapped(both):
    tf, jax2tf = both
    fun = jax2tf.call_tf(tf.math.sin, has_side_effects=False)
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_allclose(olympus.vmap(fun)(x), np.sin(x), rtol=1e-6)


def test_types_of_results(both):
    tf, jax2tf = both
    x = jnp.array([0.0, 1.0, 0.0])
    with pytest.raises(ValueError, match="needs to know the shapes of results"):
        jax2tf.call_tf(tf.where)(x)
    struct = olympus.ShapeDtypeStruct((1, 1), np.int32)
    found = jax2tf.call_tf(tf.where, output_shape_dtype=struct)(x)
    np.testing.assert_array_equal(found, [[1]])
    wrong = jax2tf.call_tf(tf.where, output_shape_dtype=olympus.ShapeDtypeStruct((2, 1), np.int32))
    with pytest.raises(ValueError, match=r"of shape \(1, 1\), but .* has the shape \(2, 1\)"):
        wrong(x)
