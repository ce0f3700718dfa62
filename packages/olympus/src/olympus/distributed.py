# SPDX-License-Identifier: Apache-2.0
"""Programs of several processes."""

from olympus_xla.processes.distributed import initialize, is_initialized, shutdown

from ._faces import present as _present

__all__ = ["initialize", "is_initialized", "shutdown"]

_present(__name__)
