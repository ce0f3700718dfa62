# SPDX-License-Identifier: Apache-2.0
"""Reproducible random numbers from explicit keys."""

from olympus_random import *  # noqa: F403

from ._faces import present as _present

_present(__name__)
