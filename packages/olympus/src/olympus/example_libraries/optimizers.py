# SPDX-License-Identifier: Apache-2.0
"""A small library of optimizers."""

from olympus_nn.optimizers import *  # noqa: F403

from .._faces import present as _present

_present(__name__)
