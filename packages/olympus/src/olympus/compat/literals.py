# SPDX-License-Identifier: Apache-2.0
"""Classes of scalars and arrays that know their dtype.

JAX makes some constants such; OLYMPUS makes none. Libraries that treat them specially find the
classes here.
"""

from __future__ import annotations

import numpy as np


class TypedInt(int):
    """A Python integer that knows its dtype."""

    dtype: np.dtype


class TypedFloat(float):
    """A Python float that knows its dtype."""

    dtype: np.dtype


class TypedComplex(complex):
    """A Python complex number that knows its dtype."""

    dtype: np.dtype


TypedNdArray = np.ndarray
