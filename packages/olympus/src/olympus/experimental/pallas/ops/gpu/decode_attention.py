# SPDX-License-Identifier: Apache-2.0
"""Decode attention: one query for each example, whose keys are split among several programs."""

from olympus_kernels.gpu.decode_attention import *  # noqa: F403
from olympus_kernels.gpu.decode_attention import __all__ as __all__

from ....._faces import present as _present

_present(__name__)
