# SPDX-License-Identifier: Apache-2.0
"""Sparse arrays as batches of compressed rows."""
