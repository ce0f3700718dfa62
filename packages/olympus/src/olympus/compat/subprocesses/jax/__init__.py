# SPDX-License-Identifier: Apache-2.0
"""The module ``jax`` in processes that a program under `olympus.compat` starts."""

import sys
from pathlib import Path

# Tools that read all modules there are may come here from elsewhere.
if str(Path(__file__).parent.parent) in sys.path:
    # This module makes way before OLYMPUS looks for a JAX that it could not run beside.
    del sys.modules[__name__]

    from olympus.compat import install

    install()
