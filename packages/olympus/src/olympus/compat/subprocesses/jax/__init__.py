# SPDX-License-Identifier: Apache-2.0
"""What ``import jax`` finds in processes that a program under `olympus.compat` starts."""

import sys

if __name__ == "jax":  # and not collected under another name by a tool
    # This module makes way before OLYMPUS looks for a JAX that it could not run beside.
    del sys.modules[__name__]

    from olympus.compat import install

    install()
