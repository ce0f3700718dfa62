# SPDX-License-Identifier: Apache-2.0
"""The default of arguments that were not given, for arguments that may be None."""

from __future__ import annotations


class NotGiven:
    """Type of the default for arguments that were not given."""

    def __repr__(self) -> str:
        return "<not given>"


NOT_GIVEN = NotGiven()
