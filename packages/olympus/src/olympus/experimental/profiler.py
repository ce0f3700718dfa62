# SPDX-License-Identifier: Apache-2.0
"""Profile data for the compiler (profile-guided optimization)."""

from olympus_xla.profiling.profiler import get_profiled_instructions_proto

from .._faces import present as _present

__all__ = ["get_profiled_instructions_proto"]

_present(__name__)
