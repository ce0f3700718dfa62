# SPDX-License-Identifier: Apache-2.0
"""Numerical methods composed from everything below: grids, statistics, polynomials, padding.

All modules are loaded when one of their names is first used. Imports every other folder and
`olympus_numpy.linalg`; only `olympus_numpy` itself imports this folder.
"""
