# SPDX-License-Identifier: Apache-2.0
"""Choices for a whole program of how XLA's CPU compiler writes loops.

The module `whole_loops` decides whether loops are divided among threads, and `rolled_loops` whether
they are unrolled. This package imports `cpu` and the modules of `compiling`.
"""
