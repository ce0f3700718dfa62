# SPDX-License-Identifier: Apache-2.0
"""Batching rules for the user's functions."""

from olympus_batching import custom_vmap, sequential_vmap

from ._faces import present as _present

__all__ = ["custom_vmap", "sequential_vmap"]

_present(__name__)
