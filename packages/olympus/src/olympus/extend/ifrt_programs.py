# SPDX-License-Identifier: Apache-2.0
"""Programs in the forms of runtimes of their own, as jaxlib knows them."""

from __future__ import annotations

from olympus_xla._jaxlib import ifrt_programs as ifrt_programs

__all__ = ["ifrt_programs"]
