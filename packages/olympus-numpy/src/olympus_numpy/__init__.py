# SPDX-License-Identifier: Apache-2.0
"""The NumPy API composed from the OLYMPUS instruction set."""

from __future__ import annotations

from .__about__ import __version__
from .arithmetic import *  # noqa: F403
from .array_methods import attach
from .constants import *  # noqa: F403
from .contractions import *  # noqa: F403
from .creation import *  # noqa: F403
from .cumulative import *  # noqa: F403
from .einsum import *  # noqa: F403
from .floats import *  # noqa: F403
from .gathering import *  # noqa: F403
from .joining import *  # noqa: F403
from .logic import *  # noqa: F403
from .matrices import *  # noqa: F403
from .moments import *  # noqa: F403
from .powers import *  # noqa: F403
from .reductions import *  # noqa: F403
from .scalar_types import *  # noqa: F403
from .searching import *  # noqa: F403
from .selection import *  # noqa: F403
from .shaping import *  # noqa: F403
from .sorting import *  # noqa: F403
from .transcendental import *  # noqa: F403
from .ufunc import frompyfunc, ufunc

attach()
