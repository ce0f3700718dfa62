# SPDX-License-Identifier: Apache-2.0
"""Reductions over segments of arrays."""

from olympus_numpy.numerics.segments import segment_max, segment_min, segment_prod, segment_sum

from ._faces import present as _present

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]

_present(__name__)
