# SPDX-License-Identifier: Apache-2.0
"""Products of groups of rows that have derivatives."""

from olympus_kernels.tpu.grouped_matmul import differentiable_gmm as gmm

from ......_faces import present as _present

__all__ = ["gmm"]

_present(__name__)
