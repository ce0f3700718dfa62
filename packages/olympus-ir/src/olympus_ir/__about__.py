# SPDX-License-Identifier: Apache-2.0
"""Version of olympus-ir."""

__version__ = "0.1.0.dev3"
