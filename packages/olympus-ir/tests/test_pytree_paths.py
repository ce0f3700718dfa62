# SPDX-License-Identifier: Apache-2.0
import pickle
from collections import OrderedDict, defaultdict, namedtuple

import pytest

from olympus_ir.trees.pytree_paths import generate_key_paths
from olympus_ir.trees.pytrees import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    SequenceKey,
    flatten_one_level_with_keys,
    keystr,
    tree_flatten_with_path,
    tree_leaves_with_path,
    tree_map_with_path,
    tree_structure,
)

Point = namedtuple("Point", "x y")
PATH = (DictKey("a"), SequenceKey(1), GetAttrKey("x"), FlattenedIndexKey(3), 7)


def test_paths_of_containers():
    tree = OrderedDict(b=1, a=Point(2, [3]))
    paths, treedef = tree_flatten_with_path(tree)
    assert paths == [
        ((DictKey("b"),), 1),
        ((DictKey("a"), GetAttrKey("x")), 2),
        ((DictKey("a"), GetAttrKey("y"), SequenceKey(0)), 3),
    ]
    assert treedef == tree_structure(tree)
    assert tree_leaves_with_path(defaultdict(int, b=1, a=2)) == [
        ((DictKey("a"),), 2),
        ((DictKey("b"),), 1),
    ]
    assert tree_leaves_with_path(5) == [((), 5)]
    assert tree_leaves_with_path(None) == []
    assert generate_key_paths([1]) == [((SequenceKey(0),), 1)]


def test_text_of_paths():
    # As jax 0.10.2 prints them.
    assert keystr(PATH) == "['a'][1].x[<flat index 3>]7"
    assert keystr(PATH, simple=True) == "a1x37"
    assert keystr(PATH, simple=True, separator="/") == "a/1/x/3/7"
    assert keystr(PATH[:2], separator="/") == "['a']/[1]"
    assert keystr(()) == ""


def test_keys_are_values():
    for key in PATH:
        assert pickle.loads(pickle.dumps(key)) == key
        assert hash(key) == hash(pickle.loads(pickle.dumps(key)))
    assert repr(PATH[:4]) == (
        "(DictKey(key='a'), SequenceKey(idx=1), GetAttrKey(name='x'), FlattenedIndexKey(key=3))"
    )


def test_is_leaf_with_and_without_path():
    tree = {"a": 1, "b": [2, (3,)]}
    by_path, _ = tree_flatten_with_path(
        tree, is_leaf=lambda path, _: len(path) == 1, is_leaf_takes_path=True
    )
    assert by_path == [((DictKey("a"),), 1), ((DictKey("b"),), [2, (3,)])]
    by_value = tree_leaves_with_path(tree, is_leaf=lambda node: isinstance(node, tuple))
    assert by_value[-1] == ((DictKey("b"), SequenceKey(1)), (3,))
    assert tree_leaves_with_path(tree, is_leaf_takes_path=True)[0] == ((DictKey("a"),), 1)


def test_map_with_path():
    def show(path, *leaves):
        return f"{keystr(path)}:{leaves}"

    assert tree_map_with_path(show, {"a": 1, "b": [2]}, {"a": 3, "b": [4]}) == {
        "a": "['a']:(1, 3)",
        "b": ["['b'][0]:(2, 4)"],
    }
    assert tree_map_with_path(show, [None, ()]) == [None, ()]
    assert tree_map_with_path(
        lambda path, x: x, [[1]], is_leaf=lambda path, x: len(path) == 1, is_leaf_takes_path=True
    ) == [[1]]


def test_map_with_path_explains_mismatches():
    with pytest.raises(ValueError, match=r"different lengths of list at key path\n.*tree\['b'\]"):
        tree_map_with_path(lambda *args: 0, {"a": 1, "b": [2]}, {"a": 3, "b": [4, 5]})
    with pytest.raises(ValueError, match=r"different lengths of list at key path\n.*tree\n"):
        tree_map_with_path(
            lambda *args: 0, [(1,), 2], [3], is_leaf=lambda node: isinstance(node, tuple)
        )


def test_one_level_with_keys():
    assert flatten_one_level_with_keys({"b": 1, "a": 2}) == (
        ((DictKey("a"), 2), (DictKey("b"), 1)),
        ("a", "b"),
    )
    pairs, _ = flatten_one_level_with_keys(Point(1, 2))
    assert list(pairs) == [(GetAttrKey("x"), 1), (GetAttrKey("y"), 2)]
    with pytest.raises(ValueError, match="int"):
        flatten_one_level_with_keys(3)
