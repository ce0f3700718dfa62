# SPDX-License-Identifier: Apache-2.0
"""Decode attention of one query per example, with the keys split among program instances."""

from olympus_kernels.gpu.decode_attention import *  # noqa: F403
from olympus_kernels.gpu.decode_attention import __all__ as __all__

from ....._faces import present as _present

_present(__name__)
