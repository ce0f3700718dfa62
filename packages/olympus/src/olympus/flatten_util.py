# SPDX-License-Identifier: Apache-2.0
"""Pytrees as flat vectors."""

from olympus_numpy.arrays.flatten_util import ravel_pytree

from ._faces import present as _present

__all__ = ["ravel_pytree"]

_present(__name__)
