# SPDX-License-Identifier: Apache-2.0
"""Facts from profiles that a compiler makes use of."""

from olympus_xla.profiling.profiler import get_profiled_instructions_proto

__all__ = ["get_profiled_instructions_proto"]
