# SPDX-License-Identifier: Apache-2.0
"""Propagation: from the layouts of operands over explicit mesh axes to those of results.

A primitive of a higher package brings its rule along. Those of the instruction set are in files
with the names of the families, loaded (`all_rules`) when an operand with a layout is met first.
"""

from __future__ import annotations

from .tables import Propagation, elementwise_split, of_program, propagation_rules, rule_of

__all__ = ["Propagation", "elementwise_split", "of_program", "propagation_rules", "rule_of"]
