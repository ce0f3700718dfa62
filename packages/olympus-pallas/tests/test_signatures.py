# SPDX-License-Identifier: Apache-2.0
"""Signatures name the types of operands."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import olympus_pallas
from olympus_pallas import mosaic_gpu, tpu, tpu_sc, triton

# Parameters that have the same kind of value in every function.
_NAMES = frozenset(
    "acc barrier collective_axes compiler_params condition dst_ref dtype grid in_specs lower mask "
    "mesh out_specs ref scratch_shapes src_ref smem_ref tmem_ref step upper x x_ref".split()
)


def signatures(module: ModuleType) -> Iterator[tuple[str, inspect.Signature]]:
    for name, value in vars(module).items():
        if name.startswith("_") or not inspect.isfunction(value):
            continue
        if value.__module__.startswith("olympus_pallas"):
            yield name, inspect.signature(value)


@pytest.mark.parametrize("module", [olympus_pallas, mosaic_gpu, tpu, tpu_sc, triton])
def test_operands_have_types(module: Any) -> None:
    found = {
        f"{name}({parameter.name})"
        for name, signature in signatures(module)
        for parameter in signature.parameters.values()
        if parameter.name in _NAMES and str(parameter.annotation).startswith("Any")
    }
    assert found <= {"layout_cast(x)"}  # an array, or a pytree of arrays


def test_results_have_types() -> None:
    for function, result in (
        (olympus_pallas.program_id, "Array"),
        (olympus_pallas.num_programs, "int | Array"),
        (olympus_pallas.get_global, "RefLike"),
        (tpu.roll, "Array"),
        (tpu_sc.cumsum, "Array"),
        (triton.load, "Array"),
        (mosaic_gpu.barrier_test, "Array"),
    ):
        assert inspect.signature(function).return_annotation == result
