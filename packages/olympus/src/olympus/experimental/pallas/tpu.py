# SPDX-License-Identifier: Apache-2.0
"""Names for kernels for TPUs, in addition to the names of `pallas`."""

from olympus_pallas.tpu import *  # noqa: F403
from olympus_pallas.tpu import __all__ as __all__

from ... import _lazy

_MOVED = "DeviceIdType HOST semaphore semaphore_read semaphore_signal semaphore_wait".split()

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__, {}, deprecated=dict.fromkeys(_MOVED, "olympus.experimental.pallas")
)
