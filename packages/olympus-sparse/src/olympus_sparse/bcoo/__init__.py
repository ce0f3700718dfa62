# SPDX-License-Identifier: Apache-2.0
"""Sparse arrays as batches of lists of coordinates and values."""
