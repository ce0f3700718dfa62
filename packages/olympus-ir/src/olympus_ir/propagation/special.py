# SPDX-License-Identifier: Apache-2.0
"""Propagation rules of special functions: those of elementwise operations."""

from __future__ import annotations

from ..programs.propagation import family_rules
from .elementwise import rule_of_elementwise

family_rules["special"] = rule_of_elementwise
