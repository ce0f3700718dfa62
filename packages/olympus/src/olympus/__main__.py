# SPDX-License-Identifier: Apache-2.0
"""Runs the command line ``python -m olympus [doctor | cache | info | frozen | examples]``."""

from __future__ import annotations

import sys

from .command_line import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
