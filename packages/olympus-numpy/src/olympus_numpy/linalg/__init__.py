# SPDX-License-Identifier: Apache-2.0
"""Linear algebra: norms and products of matrices, factors, solutions and eigenvalues."""

from __future__ import annotations

from . import determinants, factoring, matrix_functions, norms, products, solving
from .determinants import *  # noqa: F403
from .factoring import *  # noqa: F403
from .matrix_functions import *  # noqa: F403
from .norms import *  # noqa: F403
from .products import *  # noqa: F403
from .solving import *  # noqa: F403

__all__: list[str] = []
__all__ += determinants.__all__
__all__ += factoring.__all__
__all__ += matrix_functions.__all__
__all__ += norms.__all__
__all__ += products.__all__
__all__ += solving.__all__
