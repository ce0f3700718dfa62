# SPDX-License-Identifier: Apache-2.0
"""Sparse Jacobians and Hessians: patterns of programs, their coloring, compressed evaluation.

The folder imports `bcoo` and the classes of the other formats. `rules` holds the rules of the
propagation of patterns.
"""
