# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_random import PRNGImpl as PRNGImpl
from olympus_random.generators.implementations import register_prng as register_prng
from olympus_random.generators.threefry import threefry2x32_p as threefry2x32_p
from typing import Any
import olympus_ir.lax as lax
Callable: Any
Sequence: Any
define_prng_impl: Any
random_seed: Any
rbg_prng_impl: Any
seed_with_impl: Any
threefry_2x32: Any
threefry_prng_impl: Any
unsafe_rbg_prng_impl: Any
