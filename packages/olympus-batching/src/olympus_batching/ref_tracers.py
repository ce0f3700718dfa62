# SPDX-License-Identifier: Apache-2.0
"""Tracers of batched references, imported with the first batched reference."""

from __future__ import annotations

from olympus_ir.programs.tracing import register_tracer_type
from olympus_ir.references.values import RefMethods

from .tracers import BatchTracer


@register_tracer_type
class BatchRefTracer(RefMethods, BatchTracer):  # pyright: ignore[reportIncompatibleMethodOverride]
    """Tracer of one example of a reference that holds the arrays of all examples."""

    __slots__ = ()
