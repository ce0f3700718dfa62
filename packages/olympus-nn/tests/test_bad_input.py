# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

import olympus_nn
from olympus_batching import vmap
from olympus_ir.settings import config
from olympus_nn import initializers, optimizers, stax
from olympus_random import key

X = np.ones((2, 5, 4, 8), np.float32)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"key": X[:, :, :3], "value": X[:, :, :3]}, "multiple of key/value heads"),
        ({"key": X[..., :7], "value": X[..., :7]}, "query shape should be"),
        ({"query": X[0, 0]}, "3 or 4 dimensions"),
        ({"query": X.astype(np.float16)}, "query dtype should be float32"),
        ({"value": X[:, :4]}, "value shape should be"),
        ({"bias": X}, "bias should broadcast"),
        ({"mask": np.ones((1, 1, 5, 5), np.float32)}, "mask dtype should be bool"),
        ({"query_seq_lengths": np.ones(3, np.int32)}, "query_seq_lengths shape"),
        ({"key_value_seq_lengths": np.ones(2, np.float32)}, "dtype should be int32"),
        ({"local_window_size": (1, 2, 3)}, "one number or a pair"),
        ({"implementation": "pallas"}, "Unsupported implementation"),
    ],
)
def test_unsuitable_operands_of_attention_raise(options, message):
    operands = {"query": X, "key": X, "value": X} | options
    with pytest.raises(ValueError, match=message):
        olympus_nn.dot_product_attention(**operands)


def test_attention_without_cudnn():
    with pytest.raises(RuntimeError, match="cuDNN is not called"):
        olympus_nn.dot_product_attention(X, X, X, implementation="cudnn")


def test_fully_masked_attention_row_is_finite():
    mask = np.zeros((1, 1, 5, 5), np.bool_)
    assert np.isfinite(np.asarray(olympus_nn.dot_product_attention(X, X, X, mask=mask))).all()


def test_unsuitable_arguments_of_functions_raise():
    with pytest.raises(ValueError, match="must be even"):
        olympus_nn.glu(np.ones(3, np.float32))
    with pytest.raises(ValueError, match="Expected 'fast' or 'stable'"):
        olympus_nn.standardize(X, algorithm="slow")
    with pytest.raises(ValueError, match="out of bounds"):
        olympus_nn.one_hot(np.arange(3), 3, axis=2)
    with pytest.raises(TypeError):
        olympus_nn.sigmoid(np.arange(3))
    with pytest.raises(TypeError):
        olympus_nn.relu("text")


def test_one_hot_along_a_mapped_axis():
    def code(size):
        coded = vmap(
            lambda i: olympus_nn.one_hot(i, size, axis="classes"),
            in_axes=None,
            axis_name="classes",
            axis_size=3,
        )
        return coded(1)

    assert code(3).tolist() == [0.0, 1.0, 0.0]
    with pytest.raises(ValueError, match="expected num_classes=3, got 4"):
        code(4)


def test_softmax_with_the_derivative_from_its_value():
    x = np.array([1.0, 2.0, 0.5], np.float32)
    plain = olympus_nn.softmax(x)
    with config.softmax_custom_jvp(True):
        np.testing.assert_array_equal(olympus_nn.softmax(x), plain)


@pytest.mark.parametrize(
    ("mode", "distribution", "shape", "message"),
    [
        ("x", "normal", (2, 3), "invalid mode"),
        ("fan_in", "x", (2, 3), "invalid distribution"),
        ("fan_in", "normal", (3,), "Must be at least 2D"),
    ],
)
def test_unsuitable_variance_scaling_raises(mode, distribution, shape, message):
    with pytest.raises(ValueError, match=message):
        initializers.variance_scaling(1.0, mode, distribution)(key(0), shape)


def test_dropout_needs_a_key_while_training():
    with pytest.raises(ValueError, match="PRNG key argument"):
        stax.Dropout(0.5)[1]((), X)
    assert stax.Dropout(0.5, mode="test")[1]((), X, rng=key(0)) is X


def test_optimizers_refuse_other_structures():
    init, update, _ = optimizers.adam(0.1)
    with pytest.raises(TypeError, match="did not match the parameter tree"):
        update(0, {"a": 1.0}, init({"a": 1.0, "b": 2.0}))
    with pytest.raises(TypeError, match="to be a JoinPoint"):
        optimizers.pack_optimizer_state({"a": 1.0})
    with pytest.raises(TypeError, match="scalar or a function"):
        optimizers.make_schedule(np.ones(3))
    with pytest.raises(ValueError, match="one shorter"):
        optimizers.piecewise_constant([1, 2], [1.0, 2.0])


def test_states_are_unpacked_and_packed():
    state = optimizers.adam(0.1).init_fn({"a": np.ones(2, np.float32), "b": (np.float32(3),)})
    unpacked = optimizers.unpack_optimizer_state(state)
    packed = optimizers.pack_optimizer_state(unpacked)
    assert packed.tree_def == state.tree_def and packed.subtree_defs == state.subtree_defs
    found = [leaf for leaves in packed.packed_state for leaf in leaves]
    expected = [leaf for leaves in state.packed_state for leaf in leaves]
    assert all(one is other for one, other in zip(found, expected, strict=True))
