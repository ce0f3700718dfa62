# SPDX-License-Identifier: Apache-2.0
"""Destinations of cotangents: returned, added to references, or dropped."""

from __future__ import annotations

from typing import Any

from olympus_ir.references import primitives as references
from olympus_ir.types.avals import get_aval

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue", "placed"]


class _Marker:
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class GradValue(_Marker):
    """Request to return a cotangent."""

    __slots__ = ()


class GradRef(_Marker):
    """Placeholder for a cotangent that was added to a reference."""

    __slots__ = ()


class DontWant(_Marker):
    """Request to drop a cotangent."""

    __slots__ = ()


class DidntWant(_Marker):
    """Placeholder for a cotangent that was dropped."""

    __slots__ = ()


def placed(place: Any, cotangent: Any) -> Any:
    """Returns a cotangent, adds it to a reference, or drops it.

    Args:
      place: a reference to add to, `GradValue()` or `DontWant()`.
      cotangent: the cotangent.

    Returns:
      The cotangent, or its placeholder.

    Raises:
      TypeError: ``place`` is neither a reference nor one of the markers.
      ValueError: the cotangent does not have the shape of the reference.
    """
    if isinstance(place, GradValue):
        return cotangent
    if isinstance(place, DontWant):
        return DidntWant()
    if getattr(type(place), "is_ref", False):
        if get_aval(place).shape != get_aval(cotangent).shape:  # type: ignore[attr-defined]
            raise ValueError(
                f"a cotangent of type {get_aval(cotangent).str_short()} cannot be added to a "
                f"reference of type {get_aval(place).str_short()}"
            )
        references.addupdate(place, (), cotangent)
        return GradRef()
    raise TypeError(
        "VJP.with_refs takes a reference, GradValue() or DontWant() for each leaf of the "
        f"arguments, got {place!r} of type {type(place).__name__}"
    )
