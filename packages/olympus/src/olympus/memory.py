# SPDX-License-Identifier: Apache-2.0
"""The kinds of memory that values can lie in."""

from olympus_ir.memory_spaces import MemorySpace as Space

__all__ = ["Space"]
