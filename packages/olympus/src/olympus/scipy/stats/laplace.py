# SPDX-License-Identifier: Apache-2.0
"""The distribution `laplace` of the SciPy interface."""

from olympus_scipy.stats.laplace import *  # noqa: F403

from ..._faces import present as _present

_present(__name__)
