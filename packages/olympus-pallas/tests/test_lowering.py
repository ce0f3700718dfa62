# SPDX-License-Identifier: Apache-2.0
"""Kernels lowered for GPUs and TPUs: modules that MLIR's verifiers accept, and calls of them."""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import pathlib
import re
from contextlib import redirect_stdout

import numpy as np
import pytest

import olympus_numpy as jnp
import olympus_pallas as pl
import olympus_random as random
from olympus_batching import vmap
from olympus_ir import ShapeDtypeStruct, lax
from olympus_pallas import tpu, triton
from olympus_pallas.lowerings.mosaic.mathematics import _nextafter
from olympus_pallas.mlir.building import KernelLoweringError
from olympus_xla import jit

DATA = pathlib.Path(__file__).parent / "data"
F32 = np.dtype(np.float32)


def load_samples(name="samples"):
    specification = importlib.util.spec_from_file_location(name, DATA / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


samples = load_samples()
TPU_KERNELS = load_samples("tpu_samples").kernels(pl, tpu, lax, jnp, random, ShapeDtypeStruct)
KERNELS = samples.kernels(pl, triton, tpu, lax, jnp, ShapeDtypeStruct, interpret=False)


def lowered(platform, call, *arguments):
    return jit(call).trace(*arguments).lower(lowering_platforms=(platform,)).as_text()


def kernel_text(platform, kernel, *arguments, out=None, **options):
    """Returns the module of the kernel itself, as ``debug=True`` prints it."""
    out = ShapeDtypeStruct((8, 128), F32) if out is None else out
    text = io.StringIO()
    with redirect_stdout(text):
        lowered(platform, pl.pallas_call(kernel, out, debug=True, **options), *arguments)
    return text.getvalue().split("module for pallas_call", 1)[1]


X = np.ones((8, 128), F32)


@pytest.mark.parametrize("name", samples.CUDA)
def test_samples_for_gpus(name):
    call, arguments = KERNELS[name]
    text = lowered("cuda", call, *arguments)
    assert "stablehlo.custom_call @__gpu$xla.gpu.triton" in text
    assert "num_warps = 4 : i32" in text


@pytest.mark.parametrize("name", samples.TPU)
def test_samples_for_tpus(name):
    call, arguments = KERNELS[name]
    text = lowered("tpu", call, *arguments)
    assert "stablehlo.custom_call @tpu_custom_call" in text
    config = json.loads(re.search(r'backend_config = "(.*?)", ', text)[1].replace("\\22", '"'))
    body = base64.b64decode(config["custom_call_config"]["body"])
    assert body[:4] == b"ML\xefR"  # MLIR's binary form


@pytest.mark.parametrize("name", TPU_KERNELS)
def test_samples_for_tpus_alone(name):
    call, arguments = TPU_KERNELS[name]
    assert "stablehlo.custom_call @tpu_custom_call" in lowered("tpu", call, *arguments)


@pytest.mark.parametrize("name", ["add in blocks", "softmax"])
def test_batched_samples_add_a_grid_dimension(name):
    call, arguments = KERNELS[name]
    batch = [np.stack([argument] * 3) for argument in arguments]
    assert "grid_x = 3 : i32, grid_y = 2 : i32" in lowered("cuda", vmap(call), *batch)
    assert "@tpu_custom_call" in lowered("tpu", vmap(call), *batch)


def test_both_platforms_in_one_program():
    call, arguments = KERNELS["add in blocks"]
    lowering = jit(call).trace(*arguments).lower(lowering_platforms=("cuda", "tpu"))
    text = lowering.as_text()
    assert "@__gpu$xla.gpu.triton" in text
    assert "@tpu_custom_call" in text


def test_parameters_of_triton():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    call = pl.pallas_call(
        kernel,
        ShapeDtypeStruct((8, 128), F32),
        grid=(2, 3, 5, 7),
        name="copies",
        compiler_params=triton.CompilerParams(num_warps=8, num_stages=2),
        input_output_aliases={0: 0},
    )
    text = lowered("cuda", call, X)
    for part in ("num_warps = 8 : i32", "num_stages = 2 : i32", 'name = "copies"'):
        assert part in text
    assert "grid_x = 6 : i32, grid_y = 5 : i32, grid_z = 7 : i32" in text
    assert "output_operand_alias<output_tuple_indices = [], operand_index = 0" in text


@pytest.mark.parametrize(
    ("grid", "axes"),
    [
        ((), (1, 1, 1)),
        ((2,), (2, 1, 1)),
        ((2, 3), (2, 3, 1)),
        ((2, 3, 4), (2, 3, 4)),
        ((2, 3, 4, 5), (6, 4, 5)),
        ((2, 70000), (140000, 1, 1)),
        ((2, 3, 70000, 5), (420000, 5, 1)),
    ],
)
def test_grids_of_the_hardware(grid, axes):
    def kernel(x_ref, o_ref):
        for axis in range(len(grid)):
            o_ref[axis, :] = x_ref[axis, :] * pl.program_id(axis)

    text = lowered("cuda", pl.pallas_call(kernel, ShapeDtypeStruct((8, 128), F32), grid=grid), X)
    x, y, z = axes
    assert f"grid_x = {x} : i32, grid_y = {y} : i32, grid_z = {z} : i32" in text


def test_parameters_of_mosaic():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    params = tpu.CompilerParams(
        dimension_semantics=("parallel",), vmem_limit_bytes=1 << 20, has_side_effects=True
    )
    row = pl.BlockSpec((8, 128), lambda i: (i, 0))
    options = {"grid": (2,), "in_specs": [row], "out_specs": row, "compiler_params": params}
    x, out = np.ones((16, 128), F32), ShapeDtypeStruct((16, 128), F32)
    cost = pl.CostEstimate(flops=1, transcendentals=2, bytes_accessed=3)
    text = lowered("tpu", pl.pallas_call(kernel, out, cost_estimate=cost, **options), x)
    config = json.loads(re.search(r'backend_config = "(.*?)", ', text)[1].replace("\\22", '"'))
    assert config["custom_call_config"]["cost_estimate"]["transcendentals"] == 2
    assert config["scoped_memory_configs"] == [{"memory_space": 1, "offset": 0, "size": 1 << 20}]
    assert "has_side_effect = true" in text
    module = kernel_text("tpu", kernel, x, out=out, **options)
    assert "dimension_semantics = [#tpu.dimension_semantics<parallel>]" in module
    assert "iteration_bounds = array<i64: 2>" in module
    assert "func.func @transform_0(%arg0: i32) -> (i32, i32)" in module


def test_blocks_beyond_edge_are_masked_on_gpus():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    block = pl.BlockSpec((32,), lambda i: (i,))
    options = {"grid": (4,), "in_specs": [block], "out_specs": block}
    ragged, whole = np.ones(100, F32), np.ones(128, F32)
    out = ShapeDtypeStruct((100,), F32)
    assert "arith.cmpi slt" in kernel_text("cuda", kernel, ragged, out=out, **options)
    out = ShapeDtypeStruct((128,), F32)
    assert "arith.cmpi" not in kernel_text("cuda", kernel, whole, out=out, **options)


def test_blocks_larger_than_array_are_masked_on_gpus():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    block = pl.BlockSpec((128,))
    out = ShapeDtypeStruct((100,), F32)
    text = kernel_text(
        "cuda", kernel, np.ones(100, F32), out=out, in_specs=[block], out_specs=block
    )
    assert text.count("arith.cmpi slt") == 2
    assert "arith.constant dense<100>" in text


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_indices_from_the_end(platform):
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.zeros((8, 128), F32) + x_ref[-1, :]

    text = kernel_text(platform, kernel, X)
    assert re.search(r"arith.constant 7 : (i32|index)", text)


FLOAT_FUNCTIONS = {
    "exp": jnp.exp, "exp2": jnp.exp2, "expm1": jnp.expm1, "log": jnp.log, "log1p": jnp.log1p,
    "sqrt": jnp.sqrt, "rsqrt": lax.rsqrt, "cbrt": lax.cbrt, "sin": jnp.sin, "cos": jnp.cos,
    "tan": jnp.tan, "sinh": jnp.sinh, "cosh": jnp.cosh, "tanh": jnp.tanh, "erf": lax.erf,
    "erfc": lax.erfc, "logistic": lax.logistic, "floor": jnp.floor, "ceil": jnp.ceil,
    "round": jnp.round, "sign": jnp.sign, "abs": jnp.abs, "square": jnp.square,
    "cube": lambda x: lax.integer_pow(x, -3), "power": lambda x: x**2.5,
    "remainder": lambda x: lax.rem(x, x), "clip": lambda x: jnp.clip(x, 0, 1),
    "is finite": lambda x: jnp.isfinite(x).astype(x.dtype), "negated": lambda x: -x,
    "larger": lambda x: jnp.maximum(x, 0), "to integers": lambda x: x.astype(np.int32) + x,
    "where": lambda x: jnp.where(x != 0, x, 1), "bits": lambda x: lax.bitcast_convert_type(
        lax.bitcast_convert_type(x, np.int32) + 1, np.float32),
    "reciprocal": lambda x: pl.reciprocal(x, approx=True),
    "transposed": lambda x: x.T.T, "row sums": lambda x: x + jnp.sum(x, 1, keepdims=True),
    "column maxima": lambda x: x + jnp.max(x, axis=0)[None], "sum": lambda x: x + jnp.sum(x),
    "iota": lambda x: x + lax.broadcasted_iota(np.int32, (8, 128), 1),
    "largest": lambda x: x + jnp.argmax(x, axis=1)[:, None],
    "broadcast": lambda x: x + pl.broadcast_to(jnp.sum(x, 0, keepdims=True), (8, 128)),
    "reshaped": lambda x: x.reshape(4, 2, 128).reshape(8, 128),
    "narrow": lambda x: jnp.exp(x.astype(jnp.bfloat16)).astype(F32),
    "angle": lambda x: jnp.arctan2(x, 2 * x), "next": lambda x: jnp.nextafter(x, 2 * x),
    "split": lambda x: sum(jnp.split(x, 4, 1)).repeat(4, 1),
}  # fmt: skip


TPU_FUNCTIONS = {
    "padded": lambda x: jnp.pad(x[:4], ((1, 3), (0, 0)), constant_values=2),
    "tiled": lambda x: jnp.tile(x[:4], (2, 1)),
    "stacked": lambda x: jnp.stack([x, x], axis=1).sum(1),
}


@pytest.mark.parametrize("name", TPU_FUNCTIONS)
def test_functions_of_floats_for_tpus(name):
    def kernel(x_ref, o_ref):
        o_ref[...] = TPU_FUNCTIONS[name](x_ref[...])

    assert "tpu.concatenate" in kernel_text("tpu", kernel, X)


def test_nextafter_formula_equals_numpy():
    # Functions as Mosaic computes them, here by array programs.
    x = np.float32([0, -0.0, 1, -1, 1e-45, -1e-45, np.inf, 3.4e38, np.nan, 2, 2])
    for y in (*np.float32([-np.inf, -1, 0, 1, 2, np.inf, np.nan]), x[3]):
        with np.errstate(all="ignore"):
            expected = np.nextafter(x, y)
        result = np.asarray(_nextafter(x, np.full_like(x, y)))
        np.testing.assert_array_equal(result.view(np.int32), expected.view(np.int32))


@pytest.mark.parametrize(("dtype", "name"), [("int4", "extsi"), ("uint4", "extui")])
def test_narrow_integers_share_bytes(dtype, name):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...].astype(np.int8)

    x = np.zeros((8, 128), dtype)
    module = kernel_text("cuda", kernel, x, out=ShapeDtypeStruct(x.shape, np.int8))
    assert "!tt.ptr<i4>" not in module and "arith.shrui" in module and f"arith.{name}" in module
    with pytest.raises(KernelLoweringError, match="share bytes"):
        copied = pl.pallas_call(lambda x_ref, o_ref: o_ref.set(x_ref[...]), x)
        lowered("cuda", copied, x)


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
@pytest.mark.parametrize("name", FLOAT_FUNCTIONS)
def test_functions_of_floats(platform, name):
    function = FLOAT_FUNCTIONS[name]

    def kernel(x_ref, o_ref):
        o_ref[...] = function(x_ref[...])

    assert "-> tensor<8x128xf32>" in lowered(
        platform, pl.pallas_call(kernel, ShapeDtypeStruct((8, 128), F32)), X
    )


def test_narrow_floats_are_divided_in_float32():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] / (x_ref[...] + 2)

    bfloat16 = jnp.bfloat16
    x = np.ones((8, 128), bfloat16)
    text = kernel_text("cuda", kernel, x, out=ShapeDtypeStruct((8, 128), bfloat16))
    assert re.search(r"arith.divf .*: tensor<8x128xf32>", text)
    assert not re.search(r"arith.divf .*: tensor<8x128xbf16>", text)


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_functions_of_integers(platform, dtype):
    def kernel(x_ref, o_ref):
        x = x_ref[...]
        y = x // 3 + x % 5 + (x << 2) + jnp.minimum(x, 7) + (x > 3).astype(dtype) + (x >> 1)
        o_ref[...] = y + ~x + (x | 3) + (x & 7) + (x ^ 5) + lax.population_count(x)

    call = pl.pallas_call(kernel, ShapeDtypeStruct((8, 128), dtype))
    assert "custom_call" in lowered(platform, call, np.ones((8, 128), dtype))


def test_atomic_updates_for_gpus():
    def kernel(x_ref, o_ref):
        triton.atomic_add(o_ref, (pl.ds(0, 128),), x_ref[...])
        triton.atomic_max(o_ref, (pl.ds(0, 128),), x_ref[...], mask=x_ref[...] > 0)
        triton.atomic_xchg(o_ref, 0, x_ref[0])
        o_ref[1] = triton.atomic_cas(o_ref.at[1], 3.0, x_ref[2])

    text = kernel_text("cuda", kernel, np.ones(128, F32), out=ShapeDtypeStruct((128,), F32))
    for part in ("tt.atomic_rmw fadd", "tt.atomic_rmw umin", "tt.atomic_rmw exch", "tt.atomic_cas"):
        assert part in text


def test_gather_and_scatter_for_gpus():
    def kernel(x_ref, index_ref, o_ref):
        o_ref[index_ref[...], :] = x_ref[index_ref[...], :]

    text = kernel_text("cuda", kernel, X, np.arange(8, dtype=np.int32))
    assert "tt.addptr" in text


def test_copies_and_semaphores_for_tpus():
    def kernel(x_ref, o_ref, buffer, arrived, done):
        copy = tpu.make_async_copy(x_ref.at[pl.ds(pl.program_id(0) * 8, 8), :], buffer, arrived)
        copy.start()
        copy.wait()
        pl.semaphore_signal(done, 2)
        pl.semaphore_wait(done, 2)
        o_ref[...] = buffer[...] + pl.semaphore_read(done)

    text = kernel_text(
        "tpu",
        kernel,
        np.ones((16, 128), F32),
        out=ShapeDtypeStruct((16, 128), F32),
        grid=(2,),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        scratch_shapes=[
            tpu.VMEM((8, 128), F32),
            tpu.SemaphoreType.DMA,
            tpu.SemaphoreType.REGULAR,
        ],
    )
    for part in ("tpu.memref_slice", "tpu.enqueue_dma", "tpu.wait_dma2", "tpu.sem_signal"):
        assert part in text


# ---- unsupported kernels ----


def copy(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def refuses(platform, error, match, kernel=copy, x=X, out=None, **options):
    out = ShapeDtypeStruct(x.shape, x.dtype) if out is None else out
    with pytest.raises(error, match=match):
        lowered(platform, pl.pallas_call(kernel, out, **options), x)


def test_lowering_for_cpu_raises():
    with pytest.raises(ValueError, match="Only interpret mode is supported on CPU backend"):
        pl.pallas_call(copy, ShapeDtypeStruct((8, 128), F32))(X)
    refuses("cpu", ValueError, "Only interpret mode is supported on CPU backend")


def test_kernels_that_triton_does_not_support():
    refuses("cuda", ValueError, "size is a power of 2", x=np.ones((3, 128), F32))
    refuses("cuda", NotImplementedError, "Scratch memory", kernel=lambda x, o, s: None,
            scratch_shapes=[tpu.VMEM((8, 128), F32)])  # fmt: skip
    refuses("cuda", TypeError, "triton.CompilerParams", compiler_params=tpu.CompilerParams())

    def sorts(x_ref, o_ref):
        o_ref[...] = lax.sort(x_ref[...])

    refuses("cuda", NotImplementedError, "`sort` has no Triton rule.*interpret=True", kernel=sorts)

    def small(x_ref, o_ref):
        o_ref[...] = x_ref[...] @ x_ref[...]

    refuses("cuda", ValueError, "at least 16 rows", kernel=small, x=np.ones((8, 8), F32))


def test_kernels_that_mosaic_does_not_support():
    row = pl.BlockSpec((4, 128), lambda i: (i, 0))
    refuses("tpu", ValueError, "divisible by 8 and 128", grid=(2,), in_specs=[row], out_specs=row)
    refuses("tpu", ValueError, "rank >= 1", x=np.float32(1))
    refuses("tpu", TypeError, "tpu.CompilerParams", compiler_params=triton.CompilerParams())

    def stores_scalar(x_ref, o_ref):
        o_ref[0, 0] = x_ref[0, 1]

    refuses("tpu", ValueError, "Cannot store scalars to VMEM", kernel=stores_scalar)
    refuses("tpu", ValueError, "only allowed on VMEM and SMEM",
            in_specs=[pl.BlockSpec(memory_space=pl.ANY)])  # fmt: skip


def test_bitcast_and_reshaped_references():
    def kernel(x_ref, o_ref):
        bits = x_ref.bitcast(np.int16)[2:10]
        halves = x_ref.at[0:4].reshape(2, 2, 128)[1].repeat(4, 0)
        o_ref[...] = bits.astype(F32) + halves

    module = kernel_text("tpu", kernel, X)
    assert "tpu.memref_bitcast" in module and "memref<16x128xi16" in module
    assert "tpu.memref_reshape" in module and "memref<2x2x128xf32" in module

    def strided(x_ref, o_ref):
        o_ref[0:4] = x_ref.at[pl.ds(0, 4, 2)].bitcast(np.int32)[...].astype(F32)

    with pytest.raises(KernelLoweringError, match="references with strides can be read"):
        kernel_text("tpu", strided, X)
