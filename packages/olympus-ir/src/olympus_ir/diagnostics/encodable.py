# SPDX-License-Identifier: Apache-2.0
"""Texts that C++ can read: Python's strings may hold lone surrogates, which UTF-8 cannot encode."""

from __future__ import annotations

__all__ = ["encodable"]


def encodable(text: str) -> str:
    r"""Returns a text with its lone surrogates escaped.

    Args:
      text: the text, such as the name of a function, or a file name from undecodable bytes.

    Example:
      >>> print(encodable("f\udc80"))
      f\udc80
    """
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()
