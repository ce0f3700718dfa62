# SPDX-License-Identifier: Apache-2.0
"""The product of two matrices."""

from olympus_kernels.tpu.matmul import *  # noqa: F403
from olympus_kernels.tpu.matmul import __all__ as __all__

from ....._faces import present as _present

_present(__name__)
