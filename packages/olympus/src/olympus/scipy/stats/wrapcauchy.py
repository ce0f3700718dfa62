# SPDX-License-Identifier: Apache-2.0
"""The distribution `wrapcauchy` of the SciPy interface."""

from olympus_scipy.stats.wrapcauchy import *  # noqa: F403

from ..._faces import present as _present

_present(__name__)
