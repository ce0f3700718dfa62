# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_pallas.memory.access import atomic_add as atomic_add
from olympus_pallas.memory.access import atomic_and as atomic_and
from olympus_pallas.memory.access import atomic_cas as atomic_cas
from olympus_pallas.memory.access import atomic_max as atomic_max
from olympus_pallas.memory.access import atomic_min as atomic_min
from olympus_pallas.memory.access import atomic_or as atomic_or
from olympus_pallas.memory.access import atomic_xchg as atomic_xchg
from olympus_pallas.memory.access import atomic_xor as atomic_xor
from olympus_pallas.memory.access import load as load
from olympus_pallas.memory.access import store as store
from olympus_pallas.operations.hints import approx_tanh as approx_tanh
from olympus_pallas.operations.hints import debug_barrier as debug_barrier
from olympus_pallas.operations.hints import elementwise_inline_asm as elementwise_inline_asm
from olympus_pallas.operations.hints import max_contiguous as max_contiguous
from olympus_pallas.triton import CompilerParams as CompilerParams
from olympus_pallas.triton import dot as dot
