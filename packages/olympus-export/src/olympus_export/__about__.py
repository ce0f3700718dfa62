# SPDX-License-Identifier: Apache-2.0
"""Version of olympus-export."""

__version__ = "0.1.0.dev0"
