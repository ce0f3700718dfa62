# SPDX-License-Identifier: Apache-2.0
"""Sorting, and selection of elements by their place in the sorted order.

The modules import `core`, `elementwise`, `shaping` and `indexing`.
"""
