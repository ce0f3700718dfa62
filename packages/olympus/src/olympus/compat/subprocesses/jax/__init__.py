# SPDX-License-Identifier: Apache-2.0
"""The module ``jax`` in processes that a program under `olympus.compat` starts."""

import sys
from pathlib import Path

# A program that imports all modules may import this module under another name, or although its
# folder is not in `sys.path`. The module then does nothing.
if __name__ == "jax" and str(Path(__file__).parent.parent) in sys.path:
    # `install` refuses to run if JAX is imported, so this module removes itself first.
    del sys.modules[__name__]

    from olympus.compat import install

    install()
