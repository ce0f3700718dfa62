# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    "ops.tpu.attention.flash",
    "ops.tpu.attention.masks",
    "ops.tpu.attention.splash",
    "block_specs",
    "buffered_refs",
    "calls",
    "control",
    "core_mapping",
    "cost_estimates",
    "exporting",
    "fuser.block_specs",
    "fuser.customized",
    "fuser.fusions",
    "grids",
    "hints",
    "interpret_params",
    "memory",
    "memory_access",
    "memory_constraints",
    "meshes",
    "mosaic_gpu.layouts",
    "mosaic_gpu.loops",
    "mosaic_gpu.meshes",
    "mosaic_gpu.metadata",
    "mosaic_gpu.pipelines",
    "mosaic_gpu.primitives",
    "mosaic_gpu.scheduling",
    "mosaic_gpu.tilings",
    "mosaic_gpu.transforms",
    "mosaic_gpu.types",
    "mosaic_gpu.unions",
    "ops.gpu.attention",
    "ops.gpu.layer_norm",
    "ops.gpu.rms_norm",
    "ops.gpu.softmax",
    "ops.tpu.matmul",
    "packing",
    "pipelines",
    "programs",
    "random_numbers",
    "scoped",
    "selecting",
    "sizes",
    "sparse_vectors",
    "tpu",
    "tpu_info",
    "tpu_parameters",
    "tpu_primitives",
    "tpu_sc",
    "triton",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"olympus_pallas.{name}")
    results = doctest.testmod(module)
    assert results.attempted
    assert results.failed == 0
