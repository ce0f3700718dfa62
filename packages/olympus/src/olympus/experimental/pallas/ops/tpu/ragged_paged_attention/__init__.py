# SPDX-License-Identifier: Apache-2.0
"""Ragged paged attention: causal attention of sequences with different numbers of queries."""

from olympus_kernels.tpu.attention.ragged import *  # noqa: F403
from olympus_kernels.tpu.attention.ragged import __all__ as __all__

from ......_faces import present as _present

_present(__name__)
