# SPDX-License-Identifier: Apache-2.0
"""Batching rules for the user's functions."""

from olympus_batching import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
