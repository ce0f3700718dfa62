# SPDX-License-Identifier: Apache-2.0
"""Sparse arrays."""

from ... import _lazy

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__, _lazy.names_from("olympus_numpy.coordinate_arrays", "BCOO", "empty", "eye")
)
