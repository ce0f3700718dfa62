# SPDX-License-Identifier: Apache-2.0
"""The SciPy interface: vector quantization."""

from olympus_scipy.cluster.vq import *  # noqa: F403

from ..._faces import present as _present

_present(__name__)
