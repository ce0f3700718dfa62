# SPDX-License-Identifier: Apache-2.0
"""The kernels of grouped matrix products."""

from olympus_kernels.tpu.grouped_matmul import gmm, make_group_metadata, tgmm

from ......_faces import present as _present

__all__ = ["gmm", "make_group_metadata", "tgmm"]

_present(__name__)
