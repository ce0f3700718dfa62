# SPDX-License-Identifier: Apache-2.0
"""Derivatives of solutions, products with curvature matrices, Taylor coefficients.

The modules import `custom`, `forward`, `reverse` and `jet`.
"""
