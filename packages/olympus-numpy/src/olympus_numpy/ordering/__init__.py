# SPDX-License-Identifier: Apache-2.0
"""Sorting, searching in sorted arrays, sets and quantiles.

This folder imports `core`, `arrays`, `reductions`, `elementwise` and `indexing`.
"""
