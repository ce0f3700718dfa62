# SPDX-License-Identifier: Apache-2.0
"""Reductions along axes: sums, extremes, truth values, moments, cumulative sums.

`arguments` checks the arguments that reductions share. The package imports `core` and `arrays`.
"""
