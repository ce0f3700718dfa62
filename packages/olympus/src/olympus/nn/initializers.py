# SPDX-License-Identifier: Apache-2.0
"""Initialisers of weights."""

from olympus_nn.initializers import *  # noqa: F403
