# SPDX-License-Identifier: Apache-2.0
"""The persistent compilation cache."""

from . import compilation_cache

__all__ = ["compilation_cache"]
