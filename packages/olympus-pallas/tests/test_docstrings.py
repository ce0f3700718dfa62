# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    "calls.cost_estimates",
    "calls.exporting",
    "calls.pallas_call",
    "core_maps.kernels",
    "fuser.block_specs",
    "fuser.customized",
    "fuser.fusions",
    "grids.block_specs",
    "grids.grid_specs",
    "grids.program_ids",
    "grids.sizes",
    "memory.access",
    "memory.constraints",
    "memory.selection",
    "memory.spaces",
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
    "operations.control",
    "operations.hints",
    "operations.scoped",
    "settings.interpret_params",
    "tpu",
    "tpu.buffered_refs",
    "tpu.info",
    "tpu.meshes",
    "tpu.packing",
    "tpu.parameters",
    "tpu.pipelines",
    "tpu.random_numbers",
    "tpu.vector_unit",
    "tpu_sc.meshes",
    "tpu_sc.vectors",
    "triton",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"olympus_pallas.{name}")
    results = doctest.testmod(module)
    assert results.attempted
    assert results.failed == 0
