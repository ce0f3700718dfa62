# SPDX-License-Identifier: Apache-2.0
"""Platforms other than the CPU. Importing this package registers the platforms.

Plugins of third parties are registered by the environment variable
``PJRT_NAMES_AND_LIBRARY_PATHS``, a list such as ``"name:/path/plugin.so,other:/path/other.so"``, or
by a call of `olympus_xla.platforms.backends.register_platform`.
"""

from __future__ import annotations

from . import cuda, named_libraries, tpu

__all__ = ["cuda", "named_libraries", "tpu"]
