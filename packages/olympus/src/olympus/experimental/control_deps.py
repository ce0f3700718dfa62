# SPDX-License-Identifier: Apache-2.0
"""Control dependencies: the scheduling order of independent operations."""

from olympus_xla.foreign.control_deps import control_dep, schedule

__all__ = ["control_dep", "schedule"]
