# SPDX-License-Identifier: Apache-2.0
"""Kernels on arrays with symbolic sizes."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from olympus_export import export
from olympus_ir import ShapeDtypeStruct
from olympus_ir.symbolic import symbolic_shape
from olympus_pallas import (
    BlockSpec,
    cdiv,
    num_programs,
    pallas_call,
    pallas_export_experimental,
    program_id,
)
from olympus_xla import jit

F32 = np.dtype(np.float32)


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * num_programs(0) + program_id(0)


def by_rows(x, interpret):
    rows = BlockSpec((8, 128), lambda i: (i, 0))
    return pallas_call(
        kernel,
        ShapeDtypeStruct(x.shape, x.dtype),
        grid=(cdiv(x.shape[0], 8),),
        in_specs=[rows],
        out_specs=rows,
        interpret=interpret,
    )(x)


def exported(function, shape, **options):
    return export(jit(function), **options)(ShapeDtypeStruct(symbolic_shape(shape), F32))


@pytest.mark.parametrize(("shape", "size"), [("8*a, 128", 24), ("a, 128", 20), ("a, 128", 3)])
def test_grid_size_follows_symbolic_sizes(shape, size):
    program = exported(lambda x: by_rows(x, True), shape)
    x = np.arange(size * 128, dtype=F32).reshape(size, 128)
    expected = x * -(-size // 8) + np.arange(size)[:, None] // 8
    np.testing.assert_array_equal(program.call(x), expected)


def test_compiled_for_tpus():
    program = exported(lambda x: by_rows(x, False), "8*a, 128", platforms=["tpu"])
    assert str(program.out_avals[0]) == "float32[8*a,128]"
    assert "tpu_custom_call" in program.mlir_module()


def add_one(x, interpret=True):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1

    return pallas_call(kernel, ShapeDtypeStruct(x.shape, x.dtype), interpret=interpret)(x)


@pytest.mark.parametrize("shape", ["a, 128", "8*a, 128", "a, b"])
def test_blocks_of_symbolic_sizes(shape):
    with pallas_export_experimental(dynamic_shapes=True):
        program = exported(add_one, shape)
    x = np.arange(16 * 128, dtype=F32).reshape(16, 128)
    np.testing.assert_array_equal(program.call(x), x + 1)


@pytest.mark.parametrize(("platform", "compiler"), [("tpu", "Mosaic"), ("cuda", "Triton")])
def test_compiled_blocks_have_known_sizes(platform, compiler):
    with (
        pallas_export_experimental(dynamic_shapes=True),
        pytest.raises(NotImplementedError, match=f"the {compiler} lowering of kernels needs block"),
    ):
        exported(lambda x: add_one(x, False), "a, 128", platforms=[platform])


def test_blocks_have_known_sizes():
    for context in (contextlib.nullcontext(), pallas_export_experimental(False)):
        with (
            context,
            pytest.raises(ValueError, match=r"support dynamically-shaped blocks.*\(a, 128\)"),
        ):
            exported(add_one, "a, 128")
