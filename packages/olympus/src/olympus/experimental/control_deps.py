# SPDX-License-Identifier: Apache-2.0
"""The order in which operations are scheduled."""

from olympus_xla.foreign.control_deps import control_dep, schedule

__all__ = ["control_dep", "schedule"]
