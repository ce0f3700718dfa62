# SPDX-License-Identifier: Apache-2.0
"""Grouped matrix products with derivatives."""

from olympus_kernels.tpu.grouped_matmul import differentiable_gmm as gmm

from ......_faces import present as _present

__all__ = ["gmm"]

_present(__name__)
