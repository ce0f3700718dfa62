# SPDX-License-Identifier: Apache-2.0
"""Special functions, elementwise, with derivatives."""

from .bessel import *  # noqa: F403
from .error_functions import *  # noqa: F403
from .exponential_integrals import *  # noqa: F403
from .gamma_functions import *  # noqa: F403
from .harmonics import *  # noqa: F403
from .hypergeometric import *  # noqa: F403
from .information import *  # noqa: F403
