# SPDX-License-Identifier: Apache-2.0
"""Namespaces that are not modules: `olympus.ad` and `olympus.memory`."""

from __future__ import annotations

from types import SimpleNamespace

from olympus_autodiff.reverse.gradient_references import DidntWant, DontWant, GradRef, GradValue
from olympus_ir.types.memory_spaces import MemorySpace

# Values that `VJP.with_refs` takes and returns in place of cotangents.
ad = SimpleNamespace(DontWant=DontWant, DidntWant=DidntWant, GradRef=GradRef, GradValue=GradValue)
# The kinds of memory that values can lie in.
memory = SimpleNamespace(Space=MemorySpace)
