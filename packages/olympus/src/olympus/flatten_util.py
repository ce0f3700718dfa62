# SPDX-License-Identifier: Apache-2.0
"""Pytrees as flat vectors."""

from olympus_numpy.arrays.flatten_util import ravel_pytree

__all__ = ["ravel_pytree"]
