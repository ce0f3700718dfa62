# SPDX-License-Identifier: Apache-2.0
"""Kernels on arrays with symbolic sizes."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_export import export
from olympus_ir import ShapeDtypeStruct
from olympus_ir.symbolic import symbolic_shape
from olympus_pallas import BlockSpec, cdiv, num_programs, pallas_call, program_id
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
def test_as_many_programs_as_blocks(shape, size):
    program = exported(lambda x: by_rows(x, True), shape)
    x = np.arange(size * 128, dtype=F32).reshape(size, 128)
    expected = x * -(-size // 8) + np.arange(size)[:, None] // 8
    np.testing.assert_array_equal(program.call(x), expected)


def test_compiled_for_tpus():
    program = exported(lambda x: by_rows(x, False), "8*a, 128", platforms=["tpu"])
    assert str(program.out_avals[0]) == "float32[8*a,128]"
    assert "tpu_custom_call" in program.mlir_module()


def test_blocks_have_known_sizes():
    def whole(x):
        return pallas_call(kernel, ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x)

    with pytest.raises(ValueError, match=r"does not support dynamically-shaped blocks.*\(a, 128\)"):
        exported(whole, "a, 128")
