# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import doctest

from olympus_ir.trees import wrapping


class Callable:
    """What it does."""

    __name__ = 3  # no text

    def __call__(self, x):
        return x


def test_non_string_names_are_ignored():
    wrapped = Callable()
    wrapped.more = 1

    @wrapping.wraps(wrapped)
    def stand_in(x):
        return x

    assert stand_in.__name__ == "stand_in"
    assert stand_in.__doc__ == "What it does."
    assert stand_in.__wrapped__ is wrapped
    assert stand_in.more == 1


def test_examples_in_docstrings():
    results = doctest.testmod(wrapping)
    assert results.attempted and not results.failed
