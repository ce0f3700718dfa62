# SPDX-License-Identifier: Apache-2.0
"""Compiles the sample kernels of olympus-pallas for an absent TPU or GPU.

Needs the plugin (``pip install "olympus[tpu]"`` or ``"olympus[cuda13]"``), and no device. Kernels
that do not compile are printed with the compiler's message.

Usage: python compile_kernels.py tpu|cuda
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

os.environ["OLYMPUS_PLATFORMS"] = "cpu"

import numpy as np
from compile_for_accelerators import describe

import olympus_numpy as jnp
import olympus_pallas as pl
import olympus_random as random
from olympus_ir import ShapeDtypeStruct, lax
from olympus_ir.types.placement import PartitionSpec
from olympus_pallas import tpu, triton
from olympus_sharding import Mesh, NamedSharding, shard_map
from olympus_sharding.shardings.behavior import SingleDeviceSharding
from olympus_xla import jit

DATA = pathlib.Path(__file__).parent.parent / "packages/olympus-pallas/tests/data"
# The chips for which kernels are compiled have smaller matrix units.
TOO_NEW = ("matrix unit",)


def load(name: str) -> types.ModuleType:
    """Returns a module of samples by its name."""
    specification = importlib.util.spec_from_file_location(name, DATA / f"{name}.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def programs(platform: str) -> Iterator[tuple[str, Any, Sequence[Any]]]:
    """Yields name, function and argument types of each kernel; the types have shardings."""
    samples = load("samples")
    devices = describe(platform).devices
    calls = samples.kernels(pl, triton, tpu, lax, jnp, ShapeDtypeStruct, interpret=False)
    place = SingleDeviceSharding(devices[0])

    def placed(arguments: Sequence[Any]) -> list[Any]:
        return [ShapeDtypeStruct(x.shape, x.dtype, sharding=place) for x in arguments]

    for name in samples.TPU if platform == "tpu" else samples.CUDA:
        call, arguments = calls[name]
        yield name, call, placed(arguments)
    if platform == "tpu":
        more = load("tpu_samples")
        found = more.kernels(pl, tpu, lax, jnp, random, ShapeDtypeStruct)
        for name, (call, arguments) in found.items():
            if name not in TOO_NEW:
                yield name, call, placed(arguments)
        mesh = Mesh(np.array(devices), ("x",))
        spec = PartitionSpec("x")
        call = more.exchange(pl, tpu, lax, jnp, ShapeDtypeStruct, len(devices))
        mapped = shard_map(call, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
        rows = ShapeDtypeStruct(
            (8 * len(devices), 128), np.float32, sharding=NamedSharding(mesh, spec)
        )
        yield "several devices", mapped, [rows]


def main(platform: str) -> None:
    """Compiles and counts the kernels; the exit status is 0 if all compile."""
    count, failed = 0, 0
    for name, call, arguments in programs(platform):
        count += 1
        try:
            jit(call).lower(*arguments).compile()
        except Exception as error:
            failed += 1
            print(f"{name}: {type(error).__name__}: {str(error)[:2000]}")
    print(f"{platform}: {count} kernels, of which {failed} do not compile")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main(*sys.argv[1:])
