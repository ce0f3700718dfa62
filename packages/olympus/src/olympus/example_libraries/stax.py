# SPDX-License-Identifier: Apache-2.0
"""A small library of layers."""

from olympus_nn.stax import *  # noqa: F403

from .._faces import present as _present

_present(__name__)
