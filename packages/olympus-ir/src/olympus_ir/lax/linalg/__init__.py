# SPDX-License-Identifier: Apache-2.0
"""Linear algebra: factors of matrices, eigenvalues, systems of equations.

Matrices are the last two dimensions; all dimensions before these are batch dimensions.
"""

from __future__ import annotations

from . import expansions as _expansions  # noqa: F401 - fills the table of expansions
from .factoring import *  # noqa: F403
from .polar import qdwh as qdwh
from .solving import *  # noqa: F403
from .spectral import *  # noqa: F403
