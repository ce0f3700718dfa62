# SPDX-License-Identifier: Apache-2.0
"""`attach`: adds members to a class of the core on behalf of other libraries."""

from __future__ import annotations

from typing import Any

__all__ = ["attach"]


def attach(owner: type, **members: Any) -> None:
    """Adds members to a class, except members that the class already defines.

    Args:
      owner: the class.
      **members: methods, properties and constants by name.
    """
    for name, member in members.items():
        if name not in vars(owner):
            setattr(owner, name, member)
