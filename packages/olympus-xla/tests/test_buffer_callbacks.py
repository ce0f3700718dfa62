# SPDX-License-Identifier: Apache-2.0
"""Callbacks that write into the buffers of results."""

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_xla import jit
from olympus_xla.foreign.buffer_callbacks import ExecutionStage, buffer_callback

F32 = np.float32
X = np.arange(4, dtype=F32)
KIND = ShapeDtypeStruct((4,), F32)


def add_one(context, out, x):
    np.asarray(out)[...] = np.asarray(x) + 1


def test_results_are_written_in_place():
    function = buffer_callback(add_one, KIND)
    np.testing.assert_array_equal(function(X), X + 1)
    np.testing.assert_array_equal(jit(lambda x: lax.mul(function(x), F32(2)))(X), 2 * X + 2)


def test_arguments_of_the_callback():
    seen = {}

    def callback(context, out, x, *, y):
        seen.update(stage=context.stage, shape=x.shape, dtype=x.dtype, ndim=y["a"].ndim)
        seen.update(writeable=(x.writeable, out["z"].writeable))
        np.asarray(out["z"])[...] = np.asarray(x) * np.asarray(y["a"])

    result = buffer_callback(callback, {"z": KIND})(X, y={"a": X})
    np.testing.assert_array_equal(result["z"], X * X)
    assert seen == {
        "stage": ExecutionStage.EXECUTE,
        "shape": (4,),
        "dtype": F32,
        "ndim": 1,
        "writeable": (False, True),
    }


def test_aliases_and_side_effects():
    calls = []

    def callback(context, out, x):
        calls.append(1)

    same = buffer_callback(callback, KIND, input_output_aliases={0: 0})
    np.testing.assert_array_equal(same(X), X)
    kept = buffer_callback(callback, (), has_side_effect=True)

    def with_effect(x):
        kept(x)
        return x

    jit(with_effect)(X).block_until_ready()
    assert len(calls) == 2
    with pytest.raises(ValueError, match="outside the range"):
        buffer_callback(callback, KIND, input_output_aliases={1: 0})(X)


def test_unsupported_transformations_raise():
    function = buffer_callback(add_one, KIND)
    assert "buffer_callback[" in str(make_olympuspr(function)(X))
    with pytest.raises(ValueError, match="do not support JVP"):
        grad(lambda x: lax.reduce_sum(function(x), (0,)))(X)
    with pytest.raises(NotImplementedError, match="vmap_method"):
        vmap(function)(np.ones((2, 4), F32))
    for method in ("sequential", "expand_dims", "broadcast_all"):
        batched = vmap(buffer_callback(add_one, KIND, vmap_method=method))
        np.testing.assert_array_equal(batched(np.ones((2, 4), F32)), np.full((2, 4), 2))
    with pytest.raises(ValueError, match="vmap_method must be one of"):
        buffer_callback(add_one, KIND, vmap_method="some")


def test_errors_are_raised():
    def callback(context, out, x):
        raise ValueError("not today")

    with pytest.raises(Exception, match="not today"):
        buffer_callback(callback, KIND)(X).block_until_ready()


def test_callbacks_are_lowered_for_other_platforms():
    lowered = jit(buffer_callback(add_one, KIND)).lower(X, lowering_platforms=("cuda",))
    assert "xla_buffer_python_gpu_callback" in lowered.as_text()
    with pytest.raises(ValueError, match="not supported on tpu"):
        jit(buffer_callback(add_one, KIND)).lower(X, lowering_platforms=("tpu",))
