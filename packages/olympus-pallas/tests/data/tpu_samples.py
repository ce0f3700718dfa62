# SPDX-License-Identifier: Apache-2.0
"""Kernels for TPUs that array programs cannot run, for tests and for compilers of devices.

`kernels` returns, for each name, a function and the types of its arguments.
"""

from __future__ import annotations


def kernels(pl, tpu, lax, jnp, random, struct):
    """Returns the kernels, written with a library's modules."""
    f32 = jnp.float32
    tile = struct((8, 128), f32)
    whole = pl.BlockSpec(memory_space=pl.ANY)
    scalars = pl.BlockSpec(memory_space=tpu.SMEM)
    found = {}

    def gather(axis, mode):
        def kernel(i_ref, x_ref, o_ref):
            o_ref[...] = jnp.take_along_axis(x_ref[...], i_ref[...], axis=axis, mode=mode)

        return pl.pallas_call(kernel, tile)

    for axis in (0, 1):
        for mode in (None, "clip", "promise_in_bounds"):
            types = [struct((8, 128), jnp.int32), tile]
            found[f"gather along {axis}, {mode}"] = (gather(axis, mode), types)

    def round_by_chance(x_ref, bits_ref, o_ref):
        o_ref[...] = tpu.stochastic_round(x_ref[...], bits_ref[...], target_dtype=jnp.bfloat16)

    found["round by chance"] = (
        pl.pallas_call(round_by_chance, struct((16, 128), jnp.bfloat16)),
        [struct((16, 128), f32), struct((16, 128), jnp.uint32)],
    )

    def pack(x_ref, o_ref):
        packed = tpu.pack_elementwise([x_ref[...], 2 * x_ref[...]], packed_dtype=jnp.bfloat16)
        o_ref[...] = tpu.unpack_elementwise(
            packed, index=1, packed_dtype=jnp.bfloat16, unpacked_dtype=f32
        )

    found["pack and unpack"] = (pl.pallas_call(pack, tile), [tile])

    def see_bits(x_ref, o_ref):
        o_ref[...] = tpu.bitcast(tpu.bitcast(x_ref[...], jnp.int16) + 1, f32)

    found["see bits as others"] = (pl.pallas_call(see_bits, tile), [tile])

    def draw(sample):
        def kernel(seed_ref, o_ref):
            tpu.prng_seed(seed_ref[0])
            o_ref[...] = sample((8, 128))

        return pl.pallas_call(kernel, tile, in_specs=[scalars])

    for name, sample in (
        ("bits", lambda shape: tpu.stateful_bits(shape).astype(f32)),
        ("uniform", tpu.stateful_uniform),
        ("normal", tpu.stateful_normal),
        ("bernoulli", lambda shape: tpu.stateful_bernoulli(0.3, shape).astype(f32)),
    ):
        found[f"draw {name}"] = (draw(sample), [struct((1,), jnp.int32)])

    def draw_with_key(key_ref, o_ref):
        o_ref[...] = random.uniform(random.fold_in(key_ref[...], 3), (8, 128))

    keyed = pl.pallas_call(draw_with_key, tile, in_specs=[scalars])
    found["draw with a key"] = (
        lambda data: keyed(random.wrap_key_data(data, impl="pallas_tpu")),
        [struct((1, 2), jnp.uint32)],
    )

    def double(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    rows = pl.BlockSpec((8, 128), lambda i: (i, 0))
    pipeline, buffers = tpu.emit_pipeline_with_allocations(
        double, grid=(4,), in_specs=[rows], out_specs=[rows]
    )

    def twice(x_ref, o_ref):
        def run(made):
            pipeline(x_ref, o_ref, allocations=made)
            pipeline(o_ref, o_ref, allocations=made)

        pl.run_scoped(run, buffers(x_ref, o_ref))

    tall = struct((32, 128), f32)
    found["pipelines that share buffers"] = (
        pl.pallas_call(twice, tall, in_specs=[whole], out_specs=whole),
        [tall],
    )

    def on_core(x_ref, o_ref, buffer, arrived, meeting):
        part = pl.ds(lax.axis_index("core") * 8, 8)
        tpu.core_barrier(meeting, core_axis_name="core")
        tpu.async_copy(x_ref.at[part], buffer, arrived).wait()
        buffer[...] = buffer[...] + 1
        tpu.async_copy(buffer, o_ref.at[part], arrived).wait()

    found["each core"] = (
        pl.kernel(
            on_core,
            tile,
            mesh=tpu.create_tensorcore_mesh("core", num_cores=1),
            scratch_types=[
                tpu.VMEM((8, 128), f32),
                tpu.SemaphoreType.DMA,
                tpu.SemaphoreType.REGULAR,
            ],
        ),
        [tile],
    )

    def select(which_ref, x_ref, y_ref, o_ref, arrived):
        chosen = pl.select_ref(which_ref[0], x_ref, y_ref)
        tpu.async_copy(chosen, o_ref, arrived).wait()

    found["one of two references"] = (
        pl.pallas_call(
            select,
            tile,
            in_specs=[scalars, whole, whole],
            out_specs=whole,
            scratch_shapes=[tpu.SemaphoreType.DMA],
        ),
        [struct((1,), jnp.int32), tile, tile],
    )

    def shapes(x_ref, o_ref):
        tpu.trace_value("first", x_ref[0, 0])
        o_ref[...] = tpu.einshape("(ab)c->abc", x_ref[...], a=2)

    found["shapes and traces"] = (
        pl.pallas_call(shapes, struct((2, 8, 128), f32)),
        [struct((16, 128), f32)],
    )

    def multiply(x_ref, o_ref):
        tpu.matmul_push_rhs(x_ref[...], 0, 0)
        tpu.matmul_acc_lhs(0, x_ref[...], 0, load_staged_rhs=0)
        o_ref[...] = tpu.matmul_pop(0, (256, 256), f32, 0)

    # From the sixth generation on, matrix units have this size.
    found["matrix unit"] = (
        pl.pallas_call(multiply, struct((256, 256), f32)),
        [struct((256, 256), jnp.bfloat16)],
    )

    def inverse(x_ref, o_ref):
        o_ref[...] = lax.erf_inv(x_ref[...])

    found["inverse error function"] = (pl.pallas_call(inverse, tile), [tile])
    return found


def exchange(pl, tpu, lax, jnp, struct, count):
    """Returns a kernel of devices along an axis ``"x"``: each sends its block to the right."""
    block = struct((8, 128), jnp.float32)

    def kernel(x_ref, o_ref, sent, received):
        here = lax.axis_index("x")
        right, left = lax.rem(here + 1, count), lax.rem(here + count - 1, count)
        meeting = tpu.get_barrier_semaphore()
        pl.semaphore_signal(meeting, device_id={"x": right})
        pl.semaphore_signal(meeting, device_id=left, device_id_type=pl.DeviceIdType.LOGICAL)
        pl.semaphore_wait(meeting, 2)
        tpu.async_remote_copy(x_ref, o_ref, sent, received, device_id={"x": right}).wait()

    whole = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        kernel,
        block,
        in_specs=[whole],
        out_specs=whole,
        scratch_shapes=[tpu.SemaphoreType.DMA] * 2,
        compiler_params=tpu.CompilerParams(collective_id=7),
    )
