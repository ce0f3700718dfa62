# SPDX-License-Identifier: Apache-2.0
"""The module ``jax`` in processes that a program under `olympus.compat` starts."""

import sys
from pathlib import Path

# A tool that imports all modules may import this one although its folder is not in `sys.path`.
# The module does nothing then.
if str(Path(__file__).parent.parent) in sys.path:
    # This module makes way before OLYMPUS looks for a JAX that it could not run beside.
    del sys.modules[__name__]

    from olympus.compat import install

    install()
