# SPDX-License-Identifier: Apache-2.0
"""Compiles the sample kernels of olympus-pallas for a TPU or a GPU that is not there.

Needs the plugin (``pip install "olympus[tpu]"`` or ``"olympus[cuda13]"``), and no device. What does
not compile is printed with the compiler's message.

Usage: python compile_kernels.py tpu|cuda
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import sys

os.environ["OLYMPUS_PLATFORMS"] = "cpu"

from compile_for_accelerators import describe

import olympus_numpy as jnp
import olympus_pallas as pl
from olympus_ir import ShapeDtypeStruct, lax
from olympus_pallas import tpu, triton
from olympus_sharding.shardings import SingleDeviceSharding
from olympus_xla import jit

SAMPLES = pathlib.Path(__file__).parent.parent / "packages/olympus-pallas/tests/data/samples.py"


def main(platform: str) -> None:
    """Compiles and counts; the exit status says whether all compiled."""
    specification = importlib.util.spec_from_file_location("samples", SAMPLES)
    assert specification is not None and specification.loader is not None
    samples = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(samples)
    place = SingleDeviceSharding(describe(platform).devices[0])
    calls = samples.kernels(pl, triton, tpu, lax, jnp, ShapeDtypeStruct, interpret=False)
    names = samples.TPU if platform == "tpu" else samples.CUDA
    failed = 0
    for name in names:
        call, arguments = calls[name]
        types = [ShapeDtypeStruct(x.shape, x.dtype, sharding=place) for x in arguments]
        try:
            jit(call).lower(*types).compile()
        except Exception as error:
            failed += 1
            print(f"{name}: {type(error).__name__}: {str(error)[:2000]}")
    print(f"{platform}: {len(names)} kernels, of which {failed} do not compile")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main(*sys.argv[1:])
