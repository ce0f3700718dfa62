# SPDX-License-Identifier: Apache-2.0
"""Sparsity patterns of linear algebra.

Each matrix of a result depends on all elements of the operands at the same batch index.
"""

from __future__ import annotations

from olympus_ir.lax import linalg

from ..propagation import sparsity_rules, within_blocks

sparsity_rules.define(linalg.triangular_solve_p, within_blocks(lambda a, b: len(b.shape) - 2))
