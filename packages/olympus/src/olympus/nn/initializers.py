# SPDX-License-Identifier: Apache-2.0
"""Initializers of weights."""

from olympus_nn.initializers import *  # noqa: F403

from .._faces import present as _present

_present(__name__)
