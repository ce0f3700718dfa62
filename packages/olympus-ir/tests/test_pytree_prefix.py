# SPDX-License-Identifier: Apache-2.0
import dataclasses
from collections import OrderedDict, namedtuple

import pytest

from olympus_ir.trees.pytrees import (
    GetAttrKey,
    SequenceKey,
    broadcast_prefix,
    equality_errors,
    equality_errors_of_structures,
    prefix_errors,
    register_dataclass,
    tree_broadcast,
    tree_map,
    tree_structure,
)

Point = namedtuple("Point", "x y")


@register_dataclass
@dataclasses.dataclass
class Tagged:
    value: object
    tag: str = dataclasses.field(metadata={"static": True})


def is_none(x):
    return x is None


def test_prefixes_are_broadcast_to_subtrees():
    assert broadcast_prefix([1, 2], [1, (2, 3)]) == [1, 2, 2]
    assert broadcast_prefix(1, [1, (2, None)]) == [1, 1]
    assert broadcast_prefix([1, None], [1, (2, 3)], is_leaf=is_none) == [1, None, None]
    assert tree_broadcast([1, 2], ["a", ("b", "c")]) == [1, (2, 2)]
    assert tree_broadcast(0, {"a": [1, None]}) == {"a": [0, None]}
    assert tree_broadcast([None, 2], [None, (2, 3)], is_leaf=is_none) == [None, (2, 2)]


@pytest.mark.parametrize(
    ("prefix", "full", "message"),
    [
        ((1, 2), (1, 2, 3), r"different lengths of tuple at key path\n    tree_map tree\n"),
        ((1, 2), [1, 2], r"different types at key path.*<class 'tuple'>.*<class 'list'>"),
        ((1, (2, 3)), (1, 2), r"different types at key path\n    tree_map tree\[1\]\n.*'int'>"),
        ((1, None), (1, 2), r"tree\[1\]\n.*<class 'NoneType'>.*<class 'int'>"),
        (
            {"a": 1},
            {"b": 1},
            r"different pytree metadata.*the prefix has the key 'a' and .* has the key 'b'\.$",
        ),
        (
            {"a": 1},
            {"a": 1, "c": 2},
            r"numbers of pytree children.*\n    c\n.*only the full pytree has the key 'c'",
        ),
        ({"a": [1]}, {"a": [1, 2]}, r"different lengths of list at key path\n.*tree\['a'\]\n"),
        (Point(1, 2), (1, 2), r"different types.*Point.*<class 'tuple'>"),
        (Point(1, [2]), Point(1, []), r"tree\.y\n.*list of length 1.*of length 0"),
        (OrderedDict(a=1), {"a": 1}, r"OrderedDict.*<class 'dict'>"),
        (Tagged(1, "a"), Tagged(1, "b"), r"different pytree metadata.*\('a',\).*\('b',\)"),
        ([1, [{"k": (1, 2)}]], [1, [{"k": (1,)}]], r"tree\[1\]\[0\]\['k'\]\n"),
    ],
)
def test_mismatches_are_explained(prefix, full, message):
    with pytest.raises(ValueError, match=f"(?s)^pytree structure error: .*{message}"):
        tree_map(lambda x, y: 0, prefix, full)
    with pytest.raises(ValueError, match=r"(?s)^pytree structure error: .*prefix_tree"):
        broadcast_prefix(prefix, full)


def test_all_differences_are_listed_by_name():
    errors = prefix_errors([(1, 2), (3,), 4], [(1,), [3], 4])
    assert [str(error("vmap in_axes")).splitlines()[:2] for error in errors] == [
        [
            "pytree structure error: different lengths of tuple at key path",
            "    vmap in_axes[0]",
        ],
        ["pytree structure error: different types at key path", "    vmap in_axes[1]"],
    ]
    assert prefix_errors(1, [1, 2]) == []
    assert prefix_errors([None], [(1, 2)], is_leaf=is_none) == []


def test_differences_of_structures_are_listed():
    # What jax 0.10.2 gives for the same trees, and the keys.
    assert list(equality_errors({"a": 1}, {"b": 1})) == [
        (
            (),
            "<class 'dict'> with pytree metadata ('a',)",
            "<class 'dict'> with pytree metadata ('b',)",
            (
                "the pytree node metadata does not match: only the former has the key 'a' and only "
                "the latter has the key 'b'"
            ),
        )
    ]
    [(path, _, _, difference)] = equality_errors([{1: 1, 2: 2, 3: 3}], [{1: 1}])
    assert path == (SequenceKey(0),)
    assert difference.endswith(": only the former has the keys 2, 3")
    assert list(equality_errors([1, (2,)], [1, 2])) == [
        ((SequenceKey(1),), "<class 'tuple'>", "<class 'int'>", "their Python types differ")
    ]
    assert list(equality_errors([1, 2], [1, 2, 3])) == [
        ((), "list of length 2", "list of length 3", "the lengths do not match")
    ]
    assert list(equality_errors(None, 1)) == [
        ((), "<class 'NoneType'>", "<class 'int'>", "their Python types differ")
    ]
    assert list(equality_errors([1, 2.0], [3, "leaf"])) == []
    [(path, *_)] = equality_errors(Point(1, [2]), Point(1, []))
    assert path == (GetAttrKey("y"),)
    assert list(equality_errors([(1,)], [2], is_leaf=lambda x: isinstance(x, tuple))) == []


def test_equality_errors_of_structures():
    first, second = tree_structure([1, (2,)]), tree_structure([1, 2])
    assert list(equality_errors_of_structures(first, second)) == [
        ((SequenceKey(1),), "<class 'tuple'>", "pytree leaf", "their Python types differ")
    ]
    assert list(equality_errors_of_structures(first, first)) == []
