# SPDX-License-Identifier: Apache-2.0
"""Variation of values over the manual axes of a mesh."""

from __future__ import annotations

from ...programs import staging
from ...programs.tracing import current
from ...types.annotations import ArrayLike, PyTree

__all__ = ["varying_like"]


def varying_like(value: ArrayLike, *others: PyTree) -> PyTree:
    """Casts a value to vary over every manual axis over which any of ``others`` varies.

    Example:
      >>> import olympus
      >>> from olympus import P
      >>> mesh = olympus.make_mesh((1,), ("i",))
      >>> f = olympus.shard_map(
      ...     lambda x: varying_like(olympus.numpy.zeros(2), x) + x, mesh=mesh, out_specs=P("i")
      ... )
      >>> f(olympus.reshard(olympus.numpy.ones(2), olympus.NamedSharding(mesh, P("i"))))
      Array([1., 1.], dtype=float32)
    """
    if not current.axes.varying:
        return value
    axes: frozenset = frozenset()
    for other in others:
        axes |= getattr(getattr(other, "aval", None), "vma", frozenset())
    missing = axes - getattr(getattr(value, "aval", None), "vma", frozenset())
    return staging.cast_to_varying(value, tuple(sorted(missing, key=str))) if missing else value
