# SPDX-License-Identifier: Apache-2.0
"""Version of olympus-xla."""

__version__ = "0.1.0.dev1"
