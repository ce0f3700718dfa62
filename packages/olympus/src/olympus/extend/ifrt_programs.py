# SPDX-License-Identifier: Apache-2.0
"""The classes of jaxlib for programs of IFRT runtimes."""

from __future__ import annotations

from olympus_xla._jaxlib import ifrt_programs as ifrt_programs

from .._faces import present as _present

__all__ = ["ifrt_programs"]

_present(__name__)
