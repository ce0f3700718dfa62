# SPDX-License-Identifier: Apache-2.0
"""The SciPy interface: special functions."""

from olympus_scipy.special import *  # noqa: F403

from .. import _lazy

__getattr__, _ = _lazy.lazy_attributes(
    __name__,
    {},
    deprecated=dict.fromkeys(("lpmn", "lpmn_values"), "olympus_scipy.special.legendre"),
)
