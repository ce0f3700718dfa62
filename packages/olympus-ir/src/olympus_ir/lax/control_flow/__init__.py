# SPDX-License-Identifier: Apache-2.0
"""Control flow: choices and loops within traced programs."""

from .primitives import cond_p, scan_p, while_p

__all__ = ["cond_p", "scan_p", "while_p"]
