# SPDX-License-Identifier: Apache-2.0
"""Patterns of linear algebra: results depend on all elements of a matrix of the batch."""

from __future__ import annotations

from olympus_ir.lax import linalg

from ..propagation import sparsity_rules, within_blocks

sparsity_rules.define(linalg.triangular_solve_p, within_blocks(lambda a, b: len(b.shape) - 2))
