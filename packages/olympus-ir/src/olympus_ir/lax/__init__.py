# SPDX-License-Identifier: Apache-2.0
"""The instruction set: one primitive, bind function and shape rule an operation."""

from .calls import *  # noqa: F403
from .control_flow import *  # noqa: F403
