# SPDX-License-Identifier: Apache-2.0
"""Profile data for the compiler (profile-guided optimization)."""

from olympus_xla.profiling.profiler import get_profiled_instructions_proto

__all__ = ["get_profiled_instructions_proto"]
