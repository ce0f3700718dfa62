# SPDX-License-Identifier: Apache-2.0
"""The default of arguments for which None is a value, or a mistake."""

from __future__ import annotations


class NotGiven:
    """Type of the default."""

    def __repr__(self) -> str:
        return "<not given>"


NOT_GIVEN = NotGiven()
