# SPDX-License-Identifier: Apache-2.0
"""Functions of tangents that libraries take from JAX's private module."""

from __future__ import annotations

from typing import Any

from olympus_autodiff.zeros import Zero


def p2tz(primal_value: Any) -> Zero:
    """Returns the symbolic zero that is the tangent of a constant."""
    return Zero.of(primal_value)
