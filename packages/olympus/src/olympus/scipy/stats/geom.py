# SPDX-License-Identifier: Apache-2.0
"""The distribution `geom` of the SciPy interface."""

from olympus_scipy.stats.geom import *  # noqa: F403

from ..._faces import present as _present

_present(__name__)
