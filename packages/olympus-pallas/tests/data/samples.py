# SPDX-License-Identifier: Apache-2.0
"""Kernels that run under JAX and under OLYMPUS, written with the modules that are given."""

from __future__ import annotations

import functools

import numpy as np

F32 = np.dtype(np.float32)


def array(*shape, dtype=F32, scale=1.0):
    """Returns pseudo-random numbers, the same on every machine."""
    count = int(np.prod(shape))
    values = np.sin(np.arange(1, count + 1) * 12.9898) * 43758.5453
    values = (values - np.floor(values)) * 2 - 1
    return (values * scale).reshape(shape).astype(dtype)


def kernels(pl, triton, tpu, lax, jnp, struct, interpret=True):
    """Returns, for each name, a call of a kernel and its arguments."""
    call = functools.partial(pl.pallas_call, interpret=interpret)
    spec = pl.BlockSpec

    def add(x_ref, y_ref, o_ref):
        o_ref[:, :] = x_ref[:, :] + y_ref[:, :]

    def scaled_by_place(x_ref, o_ref):
        o_ref[...] = x_ref[...] * (pl.program_id(0) + 1)

    def softmax(x_ref, o_ref):
        x = x_ref[...]
        e = jnp.exp(x - jnp.max(x, axis=1, keepdims=True))
        o_ref[...] = e / jnp.sum(e, axis=1, keepdims=True)

    def matmul(x_ref, y_ref, o_ref, sum_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            sum_ref[...] = jnp.zeros_like(sum_ref)

        sum_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = sum_ref[...]

    def matmul_in_loop(x_ref, y_ref, o_ref):
        def body(k, total):
            x = x_ref[:, pl.ds(k * 16, 16)]
            y = y_ref[pl.ds(k * 16, 16), :]
            return total + jnp.dot(x, y, preferred_element_type=jnp.float32)

        o_ref[...] = lax.fori_loop(0, 4, body, jnp.zeros(o_ref.shape, jnp.float32))

    def masked_double(x_ref, o_ref):
        start = pl.program_id(0) * 32
        inside = start + jnp.arange(32) < 100
        part = triton.load(x_ref.at[pl.ds(start, 32)], mask=inside, other=0.0)
        triton.store(o_ref.at[pl.ds(start, 32)], 2 * part, mask=inside)

    def layer_norm(x_ref, weight_ref, bias_ref, o_ref):
        x = x_ref[...]
        mean = jnp.mean(x, axis=1, keepdims=True)
        centered = x - mean
        variance = jnp.mean(centered * centered, axis=1, keepdims=True)
        scaled = centered * lax.rsqrt(variance + 1e-5)
        o_ref[...] = scaled * weight_ref[...] + bias_ref[...]

    def attention(q_ref, k_ref, v_ref, o_ref):
        q = q_ref[...] * 0.25

        def body(block, carry):
            total, largest, weight = carry
            k = k_ref[pl.ds(block * 16, 16), :]
            v = v_ref[pl.ds(block * 16, 16), :]
            scores = jnp.dot(q, k.T, preferred_element_type=jnp.float32)
            new_largest = jnp.maximum(largest, jnp.max(scores, axis=1, keepdims=True))
            weights = jnp.exp(scores - new_largest)
            shrink = jnp.exp(largest - new_largest)
            total = total * shrink + jnp.dot(weights, v, preferred_element_type=jnp.float32)
            weight = weight * shrink + jnp.sum(weights, axis=1, keepdims=True)
            return total, new_largest, weight

        start = (
            jnp.zeros((16, 16), jnp.float32),
            jnp.full((16, 1), -jnp.inf, jnp.float32),
            jnp.zeros((16, 1), jnp.float32),
        )
        total, _, weight = lax.fori_loop(0, 4, body, start)
        o_ref[...] = total / weight

    def by_prefetched(rows_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] + rows_ref[pl.program_id(0)]

    def squeezed_sum(x_ref, o_ref):
        o_ref[...] = jnp.sum(x_ref[...], axis=0, keepdims=True)

    def choices(x_ref, o_ref):
        i = pl.program_id(0)
        branches = [lambda: x_ref[...], lambda: -x_ref[...], lambda: 2 * x_ref[...]]
        o_ref[...] = lax.switch(i, branches)

    def scoped(x_ref, o_ref):
        def body(buffer):
            buffer[...] = x_ref[...] * 2
            o_ref[...] = buffer[...] + 1

        pl.run_scoped(body, tpu.VMEM((8, 128), jnp.float32))

    def adds_in_place(x_ref, o_ref):
        o_ref[pl.ds(0, 4), :] += x_ref[pl.ds(4, 4), :]

    def counted(x_ref, o_ref):
        @pl.loop(0, 8)
        def _(i):
            o_ref[pl.ds(i, 1), :] = x_ref[pl.ds(7 - i, 1), :]

    def integers(x_ref, o_ref):
        x = x_ref[...]
        o_ref[...] = (x // 3) + (x % 5) * jnp.where(x > 0, x << 1, -x)

    rows = spec((8, 128), lambda i: (i, 0))
    tile = functools.partial(spec, (16, 16))
    big = struct((16, 128), F32)
    return {
        "add": (call(add, big), [array(16, 128), array(16, 128)]),
        "add in blocks": (
            call(add, big, grid=(2,), in_specs=[rows, rows], out_specs=rows),
            [array(16, 128), array(16, 128)],
        ),
        "scaled by place": (
            call(scaled_by_place, big, grid=(2,), in_specs=[rows], out_specs=rows),
            [array(16, 128)],
        ),
        "softmax": (
            call(softmax, big, grid=(2,), in_specs=[rows], out_specs=rows),
            [array(16, 128)],
        ),
        "matmul in loop": (
            call(
                matmul_in_loop,
                struct((32, 32), F32),
                grid=(2, 2),
                in_specs=[
                    spec((16, 64), lambda i, j: (i, 0)),
                    spec((64, 16), lambda i, j: (0, j)),
                ],
                out_specs=tile(lambda i, j: (i, j)),
            ),
            [array(32, 64), array(64, 32)],
        ),
        "matmul": (
            call(
                matmul,
                struct((256, 128), F32),
                grid=(2, 1, 2),
                in_specs=[
                    spec((128, 128), lambda i, j, k: (i, k)),
                    spec((128, 128), lambda i, j, k: (k, j)),
                ],
                out_specs=spec((128, 128), lambda i, j, k: (i, j)),
                scratch_shapes=[tpu.VMEM((128, 128), jnp.float32)],
            ),
            [array(256, 256), array(256, 128)],
        ),
        "masked double": (
            call(masked_double, struct((100,), F32), grid=(4,)),
            [array(100)],
        ),
        "layer norm": (
            call(
                layer_norm,
                big,
                grid=(2,),
                in_specs=[rows, spec((1, 128), lambda i: (0, 0)), spec((1, 128))],
                out_specs=rows,
            ),
            [array(16, 128), array(1, 128), array(1, 128)],
        ),
        "attention": (
            call(
                attention,
                struct((32, 16), F32),
                grid=(2,),
                in_specs=[spec((16, 16), lambda i: (i, 0)), spec(), spec()],
                out_specs=spec((16, 16), lambda i: (i, 0)),
            ),
            [array(32, 16), array(64, 16), array(64, 16)],
        ),
        "prefetched": (
            call(
                by_prefetched,
                struct((32, 128), np.dtype(np.int32)),
                grid_spec=tpu.PrefetchScalarGridSpec(
                    num_scalar_prefetch=1,
                    grid=(4,),
                    in_specs=[spec((8, 128), lambda i, rows: (rows[i], 0))],
                    out_specs=spec((8, 128), lambda i, rows: (i, 0)),
                ),
            ),
            [
                np.array([3, 1, 0, 2], np.int32),
                np.arange(32 * 128, dtype=np.int32).reshape(32, 128),
            ],
        ),
        "squeezed sum": (
            call(
                squeezed_sum,
                struct((4, 1, 128), F32),
                grid=(4,),
                in_specs=[spec((None, 8, 128), lambda i: (i, 0, 0))],
                out_specs=spec((None, 1, 128), lambda i: (i, 0, 0)),
            ),
            [array(4, 8, 128)],
        ),
        "choices": (
            call(
                choices,
                struct((24, 128), F32),
                grid=(3,),
                in_specs=[rows],
                out_specs=rows,
            ),
            [array(24, 128)],
        ),
        "scoped": (call(scoped, struct((8, 128), F32)), [array(8, 128)]),
        "adds in place": (
            call(adds_in_place, struct((8, 128), F32), input_output_aliases={0: 0}),
            [array(8, 128)],
        ),
        "counted": (call(counted, struct((8, 128), F32)), [array(8, 128)]),
        "integers": (
            call(integers, struct((8, 128), np.dtype(np.int32))),
            [array(8, 128, dtype=np.int32, scale=100.0)],
        ),
    }


# Kernels that Triton can express: without scratch buffers, prefetched scalars, arrays of sizes that
# are no powers of two, and masks beyond the edge.
CUDA = [
    "add",
    "add in blocks",
    "scaled by place",
    "softmax",
    "matmul in loop",
    "masked double",
    "layer norm",
    "attention",
    "squeezed sum",
    "choices",
    "adds in place",
    "counted",
    "integers",
]
TPU = [
    "add",
    "add in blocks",
    "scaled by place",
    "softmax",
    "matmul",
    "layer norm",
    "attention",
    "prefetched",
    "squeezed sum",
    "choices",
    "scoped",
    "adds in place",
    "counted",
    "integers",
]
