# SPDX-License-Identifier: Apache-2.0
"""Contractions: products of arrays that are summed over dimensions, and their precision.

The modules import `core`, `elementwise` and `shaping`.
"""
