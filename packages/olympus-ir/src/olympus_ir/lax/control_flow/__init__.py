# SPDX-License-Identifier: Apache-2.0
"""Control flow: conditionals and loops within traced programs."""

from .associative import associative_scan
from .conditionals import cond, switch
from .loops import fori_loop, while_loop
from .platforms import platform_dependent, platform_index_p
from .primitives import cond_p, scan_p, while_p
from .scanning import map, scan

__all__ = [
    "associative_scan",
    "cond",
    "cond_p",
    "fori_loop",
    "map",
    "platform_dependent",
    "platform_index_p",
    "scan",
    "scan_p",
    "switch",
    "while_loop",
    "while_p",
]
