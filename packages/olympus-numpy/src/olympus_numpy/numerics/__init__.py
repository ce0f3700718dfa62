# SPDX-License-Identifier: Apache-2.0
"""Numerical methods: grids, statistics, polynomials, padding, calculus of sampled functions.

Each module is loaded when one of its names is first used. This folder imports every other folder
and `olympus_numpy.linalg`; only `olympus_numpy` itself imports this folder.
"""
