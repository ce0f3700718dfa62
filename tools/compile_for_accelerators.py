# SPDX-License-Identifier: Apache-2.0
"""Compiles the samples of all primitives for an absent TPU or GPU. Needs the

plugin (``pip install "olympus[tpu]"`` or ``"olympus[cuda13]"``), and no device. Samples that do not
compile are printed with the compiler's message.

Usage: python compile_for_accelerators.py tpu|cuda [most cases a primitive] [primitive ...]
"""

from __future__ import annotations

import os
import sys
from collections import Counter

os.environ["OLYMPUS_PLATFORMS"] = "cpu"

import olympus_random  # noqa: F401  (its primitives count too)
import olympus_scipy  # noqa: F401
from olympus_sharding.shardings.behavior import SingleDeviceSharding
from olympus_testing import cases
from olympus_xla import jit
from olympus_xla.platforms.topologies import TopologyDescription, get_topology_desc

# The description of an H100, as XLA prints it.
H100 = """
gpu_device_info {
  cuda_compute_capability { major: 9 }
  threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048
  shared_memory_per_block: 49152 shared_memory_per_core: 233472
  shared_memory_per_block_optin: 232448
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
  core_count: 132 fpus_per_core: 128 clock_rate_ghz: 1.98
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  memory_bandwidth: 3352320000000 l2_cache_size: 52428800 device_memory_size: 84942979072
}
platform_name: "CUDA" dnn_version_info { major: 9 minor: 8 } device_description_str: "H100"
"""


def describe(platform: str) -> TopologyDescription:
    """Returns the description of the machine to compile for."""
    if platform == "tpu":
        return get_topology_desc("v5e:2x2", "tpu")
    return get_topology_desc("h100", "cuda", topology="1x1x1", target_config=H100)


def main(platform: str, most: str = "2", *names: str) -> None:
    """Compiles and counts the samples; the exit status is 0 if all compile."""
    place = SingleDeviceSharding(describe(platform).devices[0])
    tried: Counter[str] = Counter()
    failed = 0
    for case in cases():
        primitive = case.primitive
        if (names and primitive.name not in names) or tried[primitive.name] >= int(most):
            continue
        if primitive.family == "callbacks":
            continue  # TPUs cannot call Python functions
        tried[primitive.name] += 1
        try:
            with case.context():
                jit(case.run, in_shardings=place).lower(*case.args).compile()
        except Exception as error:
            failed += 1
            print(f"{case}: {type(error).__name__}: {str(error).splitlines()[0][:300]}")
    total = sum(tried.values())
    print(f"{total - failed} of {total} programs of {len(tried)} primitives compile")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
