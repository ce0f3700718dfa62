# SPDX-License-Identifier: Apache-2.0
"""Attention as kernels for TPUs: with masks that leave out whole blocks, and dense."""
