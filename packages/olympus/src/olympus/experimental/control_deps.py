# SPDX-License-Identifier: Apache-2.0
"""Control dependencies: the scheduling order of independent operations."""

from olympus_xla.foreign.control_deps import control_dep, schedule

from .._faces import present as _present

__all__ = ["control_dep", "schedule"]

_present(__name__)
