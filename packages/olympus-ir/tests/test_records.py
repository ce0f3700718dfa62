# SPDX-License-Identifier: Apache-2.0
import copy
import pickle
import weakref

import pytest

from olympus_ir.types.placement import AbstractDevice
from olympus_ir.types.records import Record


class Point(Record):
    x: int
    y: int

    def __init__(self, x: int, y: int = 0) -> None:
        super().__init__(x=x, y=y)


class Other(Point):
    pass


def test_values_are_compared_by_field():
    assert Point(1, 2) == Point(1, y=2)
    assert hash(Point(1, 2)) == hash(Point(1, 2))
    assert Point(1, 2) != Point(2, 1)
    assert Point(1, 2) != Other(1, 2)
    assert Point(1, 2) != (1, 2)


def test_fields_cannot_be_written():
    point = Point(1)
    with pytest.raises(AttributeError, match="cannot assign to field 'x'"):
        point.x = 3
    with pytest.raises(AttributeError, match="cannot delete field 'x'"):
        del point.x
    assert point == Point(1, 0)


def test_replace_returns_a_changed_copy():
    assert Point(1, 2).replace(y=3) == Point(1, 3)
    with pytest.raises(TypeError):
        Point(1).replace(z=1)


@pytest.mark.parametrize("value", [Point(1, 2), AbstractDevice("TPU v5", 1, "tpu")])
def test_copies_and_pickles_are_equal(value):
    again = pickle.loads(pickle.dumps(value))
    for other in (again, copy.copy(value), copy.deepcopy(value)):
        assert other == value
    assert weakref.ref(value)() is value


def test_records_show_their_fields():
    assert repr(Point(1, 2)) == "Point(x=1, y=2)"
    # The order of a set of texts differs between processes, but not the text of a record.
    names = frozenset("abcdefgh")
    assert repr(Point(names, frozenset())) == (
        f"Point(x=frozenset({{{', '.join(map(repr, 'abcdefgh'))}}}), y=frozenset())"
    )
