# SPDX-License-Identifier: Apache-2.0
"""Checks of exported functions that can be switched off."""

from __future__ import annotations

__all__ = ["DisabledSafetyCheck"]


class DisabledSafetyCheck:
    """A safety check of exported functions that is switched off."""

    __slots__ = ("_impl",)

    def __init__(self, _impl: str) -> None:
        self._impl = _impl

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """Returns an object that allows calls on platforms other than those of the export."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """Returns an object that allows calls of a foreign function without a stability guarantee.

        Args:
          target_name: the name of the foreign function.
        """
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """Returns the allowed foreign function's name; None for other checks."""
        kind, _, target = self._impl.partition(":")
        return target if kind == "custom_call" else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DisabledSafetyCheck) and self._impl == other._impl

    def __hash__(self) -> int:
        return hash(self._impl)

    def __repr__(self) -> str:
        return self._impl
