# SPDX-License-Identifier: Apache-2.0
"""Pipelines inside of kernels, interpreted and lowered."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_numpy as jnp
import olympus_pallas as pl
from olympus_ir import ShapeDtypeStruct
from olympus_pallas import tpu
from olympus_xla import jit

F32 = np.dtype(np.float32)
whole = pl.BlockSpec(memory_space=pl.ANY)


def pipelined(body, out_shape, num_inputs, interpret=True, **options):
    """Returns the function of arrays whose kernel is one pipeline."""

    def kernel(*refs):
        tpu.emit_pipeline(body, **options)(*refs)

    return pl.pallas_call(
        kernel,
        ShapeDtypeStruct(out_shape, F32),
        in_specs=[whole] * num_inputs,
        out_specs=whole,
        interpret=interpret,
    )


def both(body, out_shape, *arrays, **options):
    """Returns the interpreter's result; checks that the kernel can be lowered, too."""
    compiled = pipelined(body, out_shape, len(arrays), interpret=False, **options)
    text = jit(compiled).trace(*arrays).lower(lowering_platforms=("tpu",)).as_text()
    assert "@tpu_custom_call" in text
    return np.asarray(pipelined(body, out_shape, len(arrays), **options)(*arrays))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("no_pipelining", [False, True])
def test_blocks_in_and_out(rng, no_pipelining):
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2 + pl.program_id(0)

    tile = pl.BlockSpec((8, 128), lambda i, j: (i, j))
    x = rng.normal(size=(32, 256)).astype(F32)
    got = both(
        body,
        x.shape,
        x,
        grid=(4, 2),
        in_specs=[tile],
        out_specs=[tile],
        no_pipelining=no_pipelining,
    )
    np.testing.assert_allclose(got, x * 2 + np.arange(32)[:, None] // 8, rtol=1e-6)


def test_accumulated_outputs_stay_in_their_block(rng):
    def body(x_ref, y_ref, o_ref):
        @pl.when(pl.program_id(1) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...] @ y_ref[...]

    x, y = rng.normal(size=(32, 384)).astype(F32), rng.normal(size=(384, 128)).astype(F32)
    got = both(
        body,
        (32, 128),
        x,
        y,
        grid=(4, 3),
        in_specs=[
            pl.BlockSpec((8, 128), lambda i, k: (i, k)),
            pl.BlockSpec((128, 128), lambda i, k: (k, 0)),
        ],
        out_specs=[pl.BlockSpec((8, 128), lambda i, k: (i, 0))],
    )
    np.testing.assert_allclose(got, x @ y, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_few_steps_and_squeezed_dimensions(rng, steps):
    def body(x_ref, o_ref):
        assert x_ref.shape == (8, 128)
        o_ref[...] = -x_ref[...]

    page = pl.BlockSpec((None, 8, 128), lambda i: (i, 0, 0))
    x = rng.normal(size=(steps, 8, 128)).astype(F32)
    got = both(body, x.shape, x, grid=(steps,), in_specs=[page], out_specs=[page])
    np.testing.assert_array_equal(got, -x)


def test_invalid_pipelines_raise():
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    x = np.ones((12, 128), F32)
    tile = pl.BlockSpec((8, 128), lambda i: (i, 0))
    with pytest.raises(ValueError, match="must cover refs\\[0\\] evenly"):
        pipelined(body, x.shape, 1, grid=(2,), in_specs=[tile], out_specs=[tile])(x)
    flat = pl.BlockSpec((8,), lambda i: (i,))
    with pytest.raises(ValueError, match="same number of dimensions"):
        pipelined(body, x.shape, 1, grid=(2,), in_specs=[flat], out_specs=[tile])(x)
    with pytest.raises(ValueError, match="2 inputs and 1 outputs, but was given 2 references"):
        pipelined(body, x.shape, 1, grid=(2,), in_specs=[tile] * 2, out_specs=[tile])(x)
    with pytest.raises(ValueError, match="does not support core_axis=0"):
        tpu.emit_pipeline(body, grid=(2,), core_axis=0)
