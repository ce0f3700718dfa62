# SPDX-License-Identifier: Apache-2.0
"""Sparse Jacobians and Hessians: patterns, colorings, evaluation by terms or compressed products.

The folder imports `bcoo` and the classes of the other formats. `rules` defines the rules of the
propagation of patterns and of the elimination of terms.
"""
