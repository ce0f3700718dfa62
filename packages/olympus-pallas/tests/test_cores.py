# SPDX-License-Identifier: Apache-2.0
"""Kernels over meshes of cores, and the settings of simulated cores."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import olympus_numpy as jnp
import olympus_pallas as pl
import olympus_random as random
from olympus_batching import vmap
from olympus_ir import ShapeDtypeStruct, lax, make_olympuspr
from olympus_ir.diagnostics.errors import ConcretizationTypeError
from olympus_ir.references.primitives import new_ref
from olympus_pallas import tpu
from olympus_xla import jit
from olympus_xla.calls.effect_tokens import barrier as effects_barrier

F32 = np.dtype(np.float32)
X = np.arange(16 * 128, dtype=F32).reshape(16, 128)
OUT = ShapeDtypeStruct(X.shape, F32)
CORES = tpu.create_tensorcore_mesh("core", num_cores=2)
BUFFER = tpu.VMEM((8, 128), F32)


@contextlib.contextmanager
def failure(message):
    """Expects an error on the device, and in the effects that wait for the device."""
    with pytest.raises(Exception, match=message):
        yield
    with contextlib.suppress(Exception):
        effects_barrier()


def add_number(x_ref, o_ref, buffer, arrived):
    core = lax.axis_index("core")
    tpu.async_copy(x_ref.at[pl.ds(core * 8, 8)], buffer, arrived).wait()
    buffer[...] = buffer[...] + (core + 1)
    tpu.sync_copy(buffer, o_ref.at[pl.ds(core * 8, 8)])


WANTED = X + np.arange(16)[:, None] // 8 + 1


@pytest.mark.parametrize("interpret", [True, tpu.InterpretParams(detect_races=True)])
def test_each_core_runs_its_block(interpret):
    scratch = [BUFFER, tpu.SemaphoreType.DMA]
    call = pl.kernel(add_number, OUT, mesh=CORES, scratch_types=scratch, interpret=interpret)
    np.testing.assert_array_equal(call(X), WANTED)
    np.testing.assert_array_equal(jit(call)(X), WANTED)
    np.testing.assert_array_equal(vmap(call)(np.stack([X, X + 5])), [WANTED, WANTED + 5])


def test_programs_of_cores():
    scratch = [BUFFER, tpu.SemaphoreType.DMA]
    call = pl.kernel(add_number, OUT, mesh=CORES, scratch_types=scratch, name="numbers")
    text = str(make_olympuspr(call)(X))
    for part in (
        "mpmd_map[",
        "input_output_aliases=FrozenDict({})",
        "axis_index[axis_name=core]",
        "TensorCoreMesh(devices=array([TensorCore(id=0), TensorCore(id=1)], dtype=object)",
        "name=numbers",
    ):
        assert part in text


def test_cores_lower_for_tpus(capsys):
    scratch = {"buffer": BUFFER, "arrived": tpu.SemaphoreType.DMA}
    call = pl.kernel(add_number, OUT, mesh=CORES, scratch_types=scratch, debug=True)
    text = jit(call).trace(X).lower(lowering_platforms=("tpu",)).as_text()
    assert "@tpu_custom_call" in text
    module = capsys.readouterr().out
    assert "iteration_bounds = array<i64: 2>" in module
    assert "#tpu.dimension_semantics<parallel>" in module
    with pytest.raises(ValueError, match="Only interpret mode"):
        pl.kernel(add_number, OUT, mesh=CORES, scratch_types=scratch)(X)


def test_kernels_write_closed_over_references():
    ref = new_ref(X)

    @pl.kernel(mesh=CORES, scratch_types=[BUFFER], interpret=True)
    def double(given, buffer):
        part = given.at[pl.ds(lax.axis_index("core") * 8, 8)]
        tpu.sync_copy(part, buffer)
        buffer[...] = buffer[...] * 2
        tpu.sync_copy(buffer, part)

    assert double(ref) == ()
    np.testing.assert_array_equal(ref[...], 2 * X)

    @pl.core_map(CORES, interpret=True, scratch_shapes=[BUFFER])
    def halve(buffer):
        part = ref.at[pl.ds(lax.axis_index("core") * 8, 8)]
        tpu.sync_copy(part, buffer)
        buffer[...] = buffer[...] / 2
        tpu.sync_copy(buffer, part)

    np.testing.assert_array_equal(ref[...], X)


def test_core_map_in_a_compiled_function():
    @jit
    def halves_swapped(x):
        def run(refs):
            x_ref, y_ref = refs

            @pl.core_map(CORES, interpret=True)
            def swap():
                core = lax.axis_index("core")
                source = x_ref.at[pl.ds(core * 8, 8)]
                tpu.sync_copy(source, y_ref.at[pl.ds(8 - core * 8, 8)])

        return pl.run_state(run)((x, jnp.zeros_like(x)))[1]

    np.testing.assert_array_equal(halves_swapped(X), np.concatenate([X[8:], X[:8]]))


def test_cores_wait_at_a_barrier():
    def kernel(x_ref, o_ref, meeting):
        tpu.core_barrier(meeting, core_axis_name="core")

        @tpu.run_on_first_core("core")
        def _():
            tpu.sync_copy(x_ref, o_ref)

        tpu.core_barrier(meeting, core_axis_name="core")

    scratch = [tpu.SemaphoreType.REGULAR]
    params = tpu.InterpretParams(detect_races=True)
    call = pl.kernel(kernel, OUT, mesh=CORES, scratch_types=scratch, interpret=params)
    np.testing.assert_array_equal(call(X), X)


def test_semaphores_may_be_global():
    def kernel(x_ref, o_ref):
        tpu.core_barrier(pl.get_global(tpu.SemaphoreType.REGULAR), core_axis_name="core")
        core = lax.axis_index("core")
        tpu.sync_copy(x_ref.at[pl.ds(core * 8, 8)], o_ref.at[pl.ds(core * 8, 8)])

    np.testing.assert_array_equal(pl.kernel(kernel, OUT, mesh=CORES, interpret=True)(X), X)


def test_races_between_cores_are_detected():
    def kernel(x_ref, o_ref):
        tpu.sync_copy(x_ref, o_ref)

    call = pl.kernel(kernel, OUT, mesh=CORES, interpret=tpu.InterpretParams(detect_races=True))
    with failure("a race"):
        call(X).block_until_ready()


def test_errors_of_kernels_on_meshes():
    with pytest.raises(ValueError, match="should return None. It returns a PyTree"):
        pl.kernel(lambda x_ref, o_ref: 1, OUT, mesh=CORES, interpret=True)(X)
    with pytest.raises(ValueError, match="captures constants"):
        pl.kernel(lambda o_ref: o_ref.set(jnp.asarray(X)), OUT, mesh=CORES, interpret=True)()
    with pytest.raises(ValueError, match="one function for each mesh, got 1 functions and 2"):
        pl.kernel(add_number, OUT, mesh=[CORES, CORES])
    with pytest.raises(ValueError, match="closes over an array"):
        array = jnp.asarray(X)
        ref = new_ref(X)
        pl.core_map(CORES, interpret=True)(lambda: ref.set(array))
    with pytest.raises(ValueError, match="cannot specify both devices and num_cores"):
        tpu.create_tensorcore_mesh("core", devices=[1], num_cores=1)


# ---- settings ----


def recording(seen, **options):
    def record(token, place, number):
        seen.append((*map(int, place), int(number)))
        return token

    return tpu.InterpretParams(grid_point_recorder=record, **options)


def test_programs_on_several_cores():
    seen = []
    params = recording(seen, num_cores_or_threads=2, random_seed=1)

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    rows = pl.BlockSpec((4, 128), lambda i: (i, 0))
    call = pl.pallas_call(
        kernel,
        OUT,
        grid=(4,),
        in_specs=[rows],
        out_specs=rows,
        interpret=params,
        compiler_params=tpu.CompilerParams(dimension_semantics=("parallel",)),
    )
    np.testing.assert_array_equal(call(X), 2 * X)
    assert sorted(place for place, _ in seen) == [0, 1, 2, 3]
    assert {number for place, number in seen} == {0, 1}
    assert params.num_cores_per_device == 2
    assert params.get_vector_clock_size(4) >= 8


@pytest.mark.parametrize(("cores", "kinds"), [(1, "pa"), (2, "pa"), (3, "pp"), (4, "aa")])
def test_programs_of_parallel_axes_are_shuffled(cores, kinds):
    seen = []
    semantics = tuple({"p": "parallel", "a": tpu.ARBITRARY}[kind] for kind in kinds)

    def kernel(o_ref):
        o_ref[0, 0] = pl.num_programs(0)

    pl.pallas_call(
        kernel,
        ShapeDtypeStruct((1, 1), np.int32),
        grid=(4, 3),
        interpret=recording(seen, num_cores_or_threads=cores, random_seed=12345),
        compiler_params=tpu.CompilerParams(dimension_semantics=semantics),
    )().block_until_ready()
    # The permutation that jax.random.permutation makes with one key for each axis.
    key, first = random.split(random.key(12345))
    _, second = random.split(key)
    rows = random.permutation(first, 4) if kinds[0] == "p" else np.arange(4)
    columns = random.permutation(second, 3) if kinds[1] == "p" else np.arange(3)
    order = [(int(row), int(column)) for row in rows for column in columns]
    share = {"pa": 3 * -(-4 // cores), "pp": -(-12 // cores), "aa": 12}[kinds]
    expected = [(*place, number // share) for number, place in enumerate(order)]
    assert sorted(seen, key=lambda one: one[2]) == expected


def test_invalid_dimension_semantics_raise():
    def call(grid, *kinds):
        return pl.pallas_call(
            lambda o_ref: None,
            OUT,
            grid=grid,
            interpret=tpu.InterpretParams(),
            compiler_params=tpu.CompilerParams(dimension_semantics=kinds),
        )()

    with pytest.raises(ValueError, match="must form a prefix of the grid"):
        call((2, 2), "arbitrary", "parallel")
    with pytest.raises(ConcretizationTypeError, match="known while tracing"):
        jit(lambda n: call((n,), "parallel"))(2)


def test_reads_outside_raise_or_return_padding():
    def kernel(n_ref, x_ref, o_ref):
        o_ref[...] = x_ref[pl.ds(n_ref[0], 8), :]

    def call(n, **options):
        params = tpu.InterpretParams(**options)
        out = ShapeDtypeStruct((8, 128), F32)
        return pl.pallas_call(kernel, out, interpret=params)(np.int32([n]), X)

    np.testing.assert_array_equal(call(8), X[8:])
    with failure("indices 12 to 19 of dimension 0 are outside"):
        call(12).block_until_ready()
    beyond = np.asarray(call(12, out_of_bounds_reads="uninitialized"))
    np.testing.assert_array_equal(beyond[:4], X[12:])
    assert np.isnan(beyond[4:]).all()


def test_uninitialized_memory_has_the_chosen_contents():
    def kernel(o_ref, scratch):
        o_ref[...] = scratch[...]

    def call(**options):
        params = tpu.InterpretParams(**options)
        out = ShapeDtypeStruct((8, 128), F32)
        return np.asarray(pl.pallas_call(kernel, out, scratch_shapes=[BUFFER], interpret=params)())

    assert np.isnan(call()).all()
    assert (call(uninitialized_memory="zero") == 0).all()
    numbers = [np.int8, np.uint16, np.bool_]
    outputs = pl.pallas_call(
        lambda *refs: None,
        [ShapeDtypeStruct((1,), dtype) for dtype in numbers],
        interpret=tpu.InterpretParams(),
    )()
    assert [value[0] for value in outputs] == [127, 65535, True]
    with pytest.raises(ValueError, match="num_cores_or_threads must be positive"):
        tpu.InterpretParams(num_cores_or_threads=0)


def test_simulated_cores_agree_with_numpy():
    def kernel(x_ref, y_ref, o_ref, total):
        @pl.when(pl.program_id(1) == 0)
        def _():
            total[...] = jnp.zeros_like(total)

        def more(i, carry):
            return carry + x_ref[i, 0]

        total[...] += x_ref[...] @ y_ref[...] + lax.fori_loop(0, 4, more, np.float32(0))
        o_ref[...] = jnp.where(total[...] > 0, jnp.sin(total[...]), total[...])

    def call(interpret):
        return pl.pallas_call(
            kernel,
            ShapeDtypeStruct((16, 128), F32),
            grid=(2, 2),
            in_specs=[
                pl.BlockSpec((8, 64), lambda i, k: (i, k)),
                pl.BlockSpec((64, 128), lambda i, k: (k, 0)),
            ],
            out_specs=pl.BlockSpec((8, 128), lambda i, k: (i, 0)),
            scratch_shapes=[BUFFER],
            interpret=interpret,
        )(x, y)

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(16, 128)).astype(F32), rng.normal(size=(128, 128)).astype(F32)
    np.testing.assert_allclose(call(tpu.InterpretParams()), call(True), rtol=1e-4, atol=1e-4)


def test_prints_and_checks_on_simulated_cores(capfd):
    def kernel(n_ref, x_ref, o_ref):
        pl.debug_print("first {}", x_ref[0, 0])
        pl.debug_check(x_ref[0, 0] < 5, "the first element is small")
        o_ref[...] = x_ref[...].astype(jnp.bfloat16)

    rows = pl.BlockSpec((8, 128), lambda i, n_ref: (n_ref[i], 0))
    spec = tpu.PrefetchScalarGridSpec(1, grid=(2,), in_specs=[rows], out_specs=rows)
    with pl.enable_debug_checks():
        call = pl.pallas_call(
            kernel,
            ShapeDtypeStruct(X.shape, jnp.bfloat16),
            grid_spec=spec,
            interpret=tpu.InterpretParams(),
        )
        small = np.full_like(X, 2)
        small[8:] = 3
        got = np.asarray(call(np.int32([1, 0]), small))
        np.testing.assert_array_equal(got.astype(F32), small)
        assert capfd.readouterr().out.split("\n")[:2] == ["first 3.0", "first 2.0"]
        with failure("a check in a kernel failed: the first element is small"):
            call(np.int32([1, 0]), X).block_until_ready()
