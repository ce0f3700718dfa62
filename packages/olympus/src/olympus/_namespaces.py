# SPDX-License-Identifier: Apache-2.0
"""The namespace `olympus.ad`, which is not a module."""

from __future__ import annotations

from types import SimpleNamespace

from olympus_autodiff.reverse.gradient_references import DidntWant, DontWant, GradRef, GradValue

# Values that `VJP.with_refs` accepts and returns in place of cotangents.
ad = SimpleNamespace(DontWant=DontWant, DidntWant=DidntWant, GradRef=GradRef, GradValue=GradValue)
