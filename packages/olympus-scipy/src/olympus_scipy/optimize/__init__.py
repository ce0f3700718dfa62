# SPDX-License-Identifier: Apache-2.0
"""Minimization of functions."""

from .minimization import *  # noqa: F403
