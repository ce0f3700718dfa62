# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.profiling.profiler import get_profiled_instructions_proto as get_profiled_instructions_proto
