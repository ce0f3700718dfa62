# SPDX-License-Identifier: Apache-2.0
"""Recognition of decompositions. All other forms follow from the forms of their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.lax import linalg

from ..forward.recognition import RecognitionTrace
from ..tables import recognition_rules
from ..zeros import aval_of
from . import elementwise as elementwise  # this module's rule serves the primitives of all families
from .forms import BATCH, ROW, VALUE, Axes, Decomposition, Form

__all__: list[str] = []


def _identity(x: Any) -> Any:
    return x


def _one(x: Any) -> Any:
    return lax.full_like(x, 1)


def _axes(source: Decomposition, *labels: str) -> Axes:
    batch = [(BATCH, position) for position in range(source.batch)]
    return (*batch, *((label, 0) for label in labels))


def _source(trace: RecognitionTrace, kind: str, matrix: Any) -> Decomposition | None:
    """Returns a decomposition; None for empty matrices and a single eigenvalue."""
    if min(aval_of(matrix).shape[-2:]) < 2:
        return None
    return Decomposition(kind, trace.plain(matrix))


@recognition_rules.define(linalg.eigh_p)
def _eigh(
    trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]
) -> Sequence[Form] | None:
    source = _source(trace, "eigh", args[0])
    if source is None or params["subset_by_index"] is not None:
        return None
    values = Form(source, _axes(source, VALUE), _identity)
    if not params.get("compute_eigenvectors", True):
        return [values]
    return [Form(source, _axes(source, ROW, VALUE), _one, "left"), values]


@recognition_rules.define(linalg.svd_p)
def _svd(
    trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]
) -> Sequence[Form] | None:
    source = _source(trace, "svd", args[0])
    if source is None or params.get("subset_by_index") is not None:
        return None
    values = Form(source, _axes(source, VALUE), _identity)
    if not params["compute_uv"]:
        return [values]
    rows, columns = aval_of(source.matrix).shape[-2:]
    if params["full_matrices"] and rows != columns:
        return None
    left = Form(source, _axes(source, ROW, VALUE), _one, "left")
    right = Form(source, _axes(source, VALUE, ROW), _one, "right", is_conjugate=True)
    return [values, left, right]


@recognition_rules.define(linalg.eig_p)
def _eig(
    trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]
) -> Sequence[Form] | None:
    source = _source(trace, "eig", args[0])
    if (
        source is None
        or params["compute_left_eigenvectors"]
        or params["compute_right_eigenvectors"]
    ):
        return None
    return [Form(source, _axes(source, VALUE), _identity)]
