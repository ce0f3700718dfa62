# SPDX-License-Identifier: Apache-2.0
"""Linear algebra functions of SciPy that NumPy does not have."""

from __future__ import annotations

from . import decompositions, eigenvalues, functions, solving, special_matrices
from .decompositions import *  # noqa: F403
from .eigenvalues import *  # noqa: F403
from .functions import *  # noqa: F403
from .solving import *  # noqa: F403
from .special_matrices import *  # noqa: F403

__all__: list[str] = []
__all__ += decompositions.__all__
__all__ += eigenvalues.__all__
__all__ += functions.__all__
__all__ += solving.__all__
__all__ += special_matrices.__all__
