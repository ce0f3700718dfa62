# SPDX-License-Identifier: Apache-2.0
"""Damage: every kind of change happens, has an effect, and follows from the seed."""

import random

import pytest

from olympus_testing import damage

CONTENTS = b"HEADER 1234 5678\n" + bytes(range(256)) * 3


def test_copies_differ_and_are_reproducible():
    for seed in range(300):
        copy = damage.damaged(CONTENTS, random.Random(seed))
        assert copy != CONTENTS
        assert copy == damage.damaged(CONTENTS, random.Random(seed))


def test_lengths_grow_shrink_or_are_kept():
    lengths = [len(damage.damaged(CONTENTS, random.Random(seed))) for seed in range(200)]
    assert min(lengths) < len(CONTENTS) < max(lengths)
    assert len(CONTENTS) in lengths


@pytest.mark.parametrize("change", damage.CHANGES, ids=lambda change: change.__name__)
def test_each_kind_of_damage(change):
    found = set()
    for seed in range(50):
        data = bytearray(CONTENTS)
        change(data, random.Random(seed), (b"donor" * 20,))
        found.add(bytes(data))
    assert len(found - {CONTENTS}) > 10


def test_short_and_empty_contents():
    for seed in range(100):
        assert damage.damaged(b"1", random.Random(seed)) != b"1"
    with pytest.raises(ValueError, match="at least one byte"):
        damage.damaged(b"", random.Random(0))
