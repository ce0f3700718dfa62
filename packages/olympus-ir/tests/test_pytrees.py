# SPDX-License-Identifier: Apache-2.0
import collections
import dataclasses
import functools
import gc
import pickle
import weakref
from collections import OrderedDict, defaultdict, namedtuple
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olympus_ir.trees import pytrees
from olympus_ir.trees.pytrees import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    Partial,
    SequenceKey,
    all_leaves,
    flatten_one_level,
    is_tree_node,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    static_field,
    tree_all,
    tree_flatten,
    tree_leaves,
    tree_leaves_with_path,
    tree_map,
    tree_reduce,
    tree_reduce_associative,
    tree_structure,
    tree_transpose,
    tree_unflatten,
    treedef_children,
    treedef_is_leaf,
    treedef_tuple,
)

Point = namedtuple("Point", "x y")


class Linear(NamedTuple):
    weight: int
    bias: int


@dataclasses.dataclass
class Model:
    weight: object
    bias: object
    name: str = "model"


register_dataclass(Model, ["weight", "bias"], ["name"])


class Pair:
    def __init__(self, first, second):
        self.first, self.second = first, second

    def __eq__(self, other):
        return (self.first, self.second) == (other.first, other.second)

    __hash__ = None


register_pytree_node(Pair, lambda p: ((p.first, p.second), None), lambda _, c: Pair(*c))


@register_static
class Mode:
    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return isinstance(other, Mode) and self.name == other.name

    def __hash__(self):
        return hash(self.name)


leaves = st.integers() | st.text(max_size=3)
trees = st.recursive(
    leaves | st.none(),
    lambda children: (
        st.lists(children, max_size=3)
        | st.tuples(children, children)
        | st.dictionaries(st.text(max_size=2), children, max_size=3)
        | st.dictionaries(st.text(max_size=2), children, max_size=3).map(OrderedDict)
        | st.builds(Point, children, children)
        | st.builds(Pair, children, children)
        | st.builds(Model, children, children, st.sampled_from("ab"))
    ),
    max_leaves=12,
)


@given(trees)
def test_unflatten_undoes_flatten(tree):
    flat, treedef = tree_flatten(tree)
    assert tree_unflatten(treedef, flat) == tree
    assert treedef.num_leaves == len(flat)
    assert tree_structure(tree) == treedef
    assert hash(tree_structure(tree)) == hash(treedef)


@given(trees)
def test_structures_pickle(tree):
    treedef = tree_structure(tree)
    assert pickle.loads(pickle.dumps(treedef)) == treedef


@given(trees)
def test_map_of_identity_and_composition(tree):
    assert tree_map(lambda x: x, tree) == tree
    once = tree_map(str, tree_map(repr, tree))
    assert once == tree_map(lambda x: str(repr(x)), tree)


@given(trees)
def test_paths_lead_to_leaves(tree):
    def follow(node, key):
        match key:
            case DictKey(key=name):
                return node[name]
            case SequenceKey(idx=index):
                return node[index]
            case GetAttrKey(name=name):
                return getattr(node, name)
            case FlattenedIndexKey(key=index):
                return (node.first, node.second)[index]

    for path, leaf in tree_leaves_with_path(tree):
        assert functools.reduce(follow, path, tree) == leaf


def test_order_of_leaves():
    assert tree_leaves({"b": 1, "a": (2, None, [3])}) == [2, 3, 1]
    assert tree_leaves(OrderedDict(b=1, a=2)) == [1, 2]
    assert tree_leaves(defaultdict(int, b=1, a=2)) == [2, 1]
    assert tree_leaves(Point(1, [2])) == [1, 2]
    assert tree_leaves(None) == []
    assert tree_leaves(Model(1, [2], "x")) == [1, 2]
    queue = collections.deque([1, 2])
    assert tree_leaves(queue) == [queue]


def test_structures_print():
    assert str(tree_structure({"a": (0, None, [0])})) == "PyTreeDef({'a': (*, None, [*])})"
    assert str(tree_structure(Model(1, [2], "x"))) == (
        "PyTreeDef(CustomNode(Model[('x',)], [*, [*]]))"
    )
    assert str(tree_structure(OrderedDict(a=1))) == (
        "PyTreeDef(CustomNode(OrderedDict[('a',)], [*]))"
    )


def test_structures_differ_by_type_and_metadata():
    assert tree_structure([0]) != tree_structure((0,))
    assert tree_structure(OrderedDict(a=1, b=2)) != tree_structure(OrderedDict(b=1, a=2))
    assert tree_structure(Model(0, 0, "a")) != tree_structure(Model(0, 0, "b"))
    assert tree_structure(Mode("a")) == tree_structure(Mode("a"))
    assert tree_structure(Mode("a")) != tree_structure(Mode("b"))


def test_containers_are_restored():
    restored = tree_map(lambda x: x + 1, defaultdict(list, b=1, a=2))
    assert restored == {"a": 3, "b": 2}
    assert restored.default_factory is list
    assert tree_map(lambda x: x + 1, OrderedDict(b=1, a=2)) == OrderedDict(b=2, a=3)
    assert type(tree_map(lambda x: x, Linear(1, 2))) is Linear


def test_is_leaf_stops_flattening():
    assert tree_leaves([(1, 2), 3], is_leaf=lambda x: isinstance(x, tuple)) == [(1, 2), 3]
    assert tree_map(lambda x: x, [None, 1], is_leaf=lambda x: x is None) == [None, 1]
    assert tree_structure([(1, 2)], lambda x: isinstance(x, tuple)) == tree_structure([0])
    assert tree_leaves(None, is_leaf=lambda x: x is None) == [None]


def test_map_of_several_trees():
    assert tree_map(lambda x, y: (x, y), (1, 2), (1, (2, 3))) == ((1, 1), (2, (2, 3)))
    assert tree_map(lambda x, y: (x, y), (1, None), (1, None)) == ((1, 1), None)
    assert tree_map(lambda *xs: sum(xs), [1, 2], [10, 20], [100, 200]) == [111, 222]


def test_unflatten_checks_the_number_of_leaves():
    treedef = tree_structure((1, 2))
    with pytest.raises(ValueError, match="Too few leaves"):
        tree_unflatten(treedef, [1])
    with pytest.raises(ValueError, match="Too many leaves"):
        tree_unflatten(treedef, [1, 2, 3])


def test_tree_reduce_combines_leaves_in_order():
    assert tree_reduce(lambda a, b: a + b, [1, (2, 3)]) == 6
    assert tree_reduce(lambda a, b: a + b, [], 5) == 5
    assert tree_reduce(lambda a, b: (a, b), [1], None) == (None, 1)
    with pytest.raises(TypeError, match="empty"):
        tree_reduce(lambda a, b: a + b, [])


def test_associative_reduce_pairs_halves():
    join = "({}{})".format
    # As jax 0.10.2 pairs them.
    assert tree_reduce_associative(join, list("abcde")) == "((ab)(c(de)))"
    assert tree_reduce_associative(join, list("abcdefg")) == "((a(bc))((de)(fg)))"
    assert tree_reduce_associative(join, list("abc"), identity="i") == "(a(bc))"
    assert tree_reduce_associative(join, [], identity="i") == "i"
    with pytest.raises(TypeError, match="identity"):
        tree_reduce_associative(join, [])


def test_tree_all_tests_every_leaf():
    assert tree_all([])
    assert tree_all([True, {"a": 1}])
    assert not tree_all([True, {"a": 0}])
    assert tree_all([[0]], is_leaf=lambda x: isinstance(x, list))


def test_tree_transpose_exchanges_inner_and_outer_structure():
    rows = [{"a": 1, "b": 2}] * 3
    outer, inner = tree_structure([0, 0, 0]), tree_structure({"a": 0, "b": 0})
    assert tree_transpose(outer, inner, rows) == {"a": [1, 1, 1], "b": [2, 2, 2]}
    assert tree_transpose(outer, None, rows) == {"a": [1, 1, 1], "b": [2, 2, 2]}
    with pytest.raises(TypeError, match=r"\[\{'a': \*, 'b': \*\}, \{'a': \*, 'b': \*\}\]"):
        tree_transpose(tree_structure([0, 0]), inner, rows)
    with pytest.raises(ValueError, match="inner_treedef"):
        tree_transpose(tree_structure([]), None, [])


def test_all_leaves_is_false_for_containers():
    assert all_leaves([1, 2])
    assert not all_leaves([1, [2]])
    assert not all_leaves([1, None])
    assert all_leaves([1, "a"], is_leaf=lambda x: x == "a")


def test_flatten_one_level_returns_children():
    assert flatten_one_level({"b": 1, "a": [2]}) == (([2], 1), ("a", "b"))
    assert flatten_one_level(None) == ((), None)
    with pytest.raises(ValueError, match="int"):
        flatten_one_level(3)
    assert is_tree_node(list)
    assert is_tree_node(type(None))
    assert is_tree_node(Point)
    assert not is_tree_node(int)
    assert not is_tree_node(collections.deque)


def test_structures_of_structures():
    assert treedef_tuple([tree_structure(1), tree_structure([1])]) == tree_structure((1, [1]))
    assert treedef_children(tree_structure([1, (2,)])) == [tree_structure(1), tree_structure((2,))]
    assert treedef_is_leaf(tree_structure(1))
    assert treedef_is_leaf(tree_structure(None))
    assert not treedef_is_leaf(tree_structure([1]))
    composed = tree_structure((0, [0])).compose(tree_structure([0, 0]))
    assert composed == tree_structure(([0, 0], [[0, 0]]))


def test_unsortable_keys_are_refused():
    with pytest.raises(ValueError, match="sort"):
        tree_flatten({1: 2, "a": 3})


# --- Registration --------------------------------------------------------------------------------


def test_a_type_is_registered_once():
    with pytest.raises(ValueError, match="Duplicate"):
        register_pytree_node(Pair, lambda p: ((), None), lambda a, c: None)
    with pytest.raises(ValueError, match="Duplicate"):
        register_pytree_node(dict, lambda p: ((), None), lambda a, c: None)
    with pytest.raises(ValueError, match="Duplicate"):
        register_dataclass(Model)


def test_subclasses_are_leaves():
    class SubPair(Pair):
        pass

    pair = SubPair(1, 2)
    assert tree_leaves([pair]) == [pair]


def test_class_decorators_register_nodes():
    @register_pytree_node_class
    class Box:
        def __init__(self, content):
            self.content = content

        def tree_flatten(self):
            return (self.content,), "aux"

        @classmethod
        def tree_unflatten(cls, aux_data, children):
            assert aux_data == "aux"
            return cls(*children)

    assert tree_map(lambda x: x + 1, Box(1)).content == 2
    assert tree_leaves_with_path(Box(1)) == [((FlattenedIndexKey(0),), 1)]

    @register_pytree_with_keys_class
    class Named:
        def __init__(self, content):
            self.content = content

        def tree_flatten_with_keys(self):
            return ((GetAttrKey("content"), self.content),), None

        @classmethod
        def tree_unflatten(cls, aux_data, children):
            return cls(*children)

    assert tree_map(lambda x: x + 1, Named(1)).content == 2
    assert tree_leaves_with_path(Named([1])) == [((GetAttrKey("content"), SequenceKey(0)), 1)]


def test_class_with_keys_uses_the_faster_flatten():
    @register_pytree_with_keys_class
    class Fast:
        def tree_flatten_with_keys(self):
            raise AssertionError("keys are not needed")

        def tree_flatten(self):
            return (1, 2), None

        @classmethod
        def tree_unflatten(cls, aux_data, children):
            return cls()

    assert tree_leaves(Fast()) == [1, 2]


def test_register_with_keys():
    class Node:
        pass

    register_pytree_with_keys(
        Node, lambda node: (((GetAttrKey("q"), 1),), None), lambda aux, children: Node()
    )
    assert tree_leaves(Node()) == [1]
    assert tree_leaves_with_path(Node()) == [((GetAttrKey("q"),), 1)]


def test_none_leaf_registry_treats_none_as_leaf():
    flat, _ = pytrees.none_leaf_registry.flatten(Pair(None, 1))
    assert flat == [None, 1]


def test_dataclasses_by_their_fields():
    @register_dataclass
    @dataclasses.dataclass
    class Layer:
        weight: int
        bias: int = 0
        activation: str = static_field(default="relu", metadata={"help": "a name"})

    layer = tree_map(lambda x: x + 1, Layer(1, 2, "tanh"))
    assert layer == Layer(2, 3, "tanh")
    assert tree_leaves_with_path(layer)[0] == ((GetAttrKey("weight"),), 2)
    (field,) = (f for f in dataclasses.fields(Layer) if f.name == "activation")
    assert field.metadata == {"static": True, "help": "a name"}


def test_dataclass_fields_are_checked():
    @dataclasses.dataclass
    class Two:
        a: int
        b: int = 0

    class Plain:
        def __init__(self, x, y):
            self.x, self.y = x, y

    with pytest.raises(ValueError, match=r"Missing fields: {'b'}.*drop_fields"):
        register_dataclass(Two, ["a"], [])
    with pytest.raises(ValueError, match=r"Unexpected fields: {'q'}"):
        register_dataclass(Two, ["a", "q"], ["b"])
    with pytest.raises(ValueError, match=r"both data and metadata: \['b'\]"):
        register_dataclass(Two, ["a", "b"], ["b"])

    @dataclasses.dataclass
    class Cached:
        a: int
        cache: object = dataclasses.field(default=None, init=False)

    with pytest.raises(ValueError, match=r"Unexpected fields: {'cache'}"):
        register_dataclass(Cached)
    assert tree_leaves(register_dataclass(Cached, drop_fields=["cache"])(1)) == [1]
    with pytest.raises(TypeError, match="must both be specified when either is specified"):
        register_dataclass(Two, ["a"])
    with pytest.raises(TypeError, match="when nodetype is not a dataclass"):
        register_dataclass(Plain)
    assert register_dataclass(Two, ["a"], [], drop_fields=["b"]) is Two
    assert tree_map(lambda x: x, Two(1, 2)) == Two(1, 0)
    register_dataclass(Plain, ["x"], ["y"])
    assert tree_leaves(Plain(1, 2)) == [1]


def test_static_instances_have_no_leaves():
    assert tree_leaves([Mode("train"), 1]) == [1]
    mode = Mode("train")
    assert tree_map(lambda x: x, [mode])[0] is mode


# --- Partial -------------------------------------------------------------------------------------


def test_partial_is_a_pytree_of_its_arguments():
    partial = Partial(max, 1, [2], key=5)
    assert tree_leaves(partial) == [1, 2, 5]
    assert tree_structure(partial) == tree_structure(Partial(max, 3, [4], key=6))
    assert tree_structure(partial) != tree_structure(Partial(min, 1, [2], key=5))
    assert tree_map(lambda x: 10 * x, Partial(pow, 2))(2) == 400
    assert isinstance(partial, functools.partial)
    # The names that jax gives the children, which checkpoints may hold.
    assert tree_leaves_with_path(Partial(max, 1))[0][0] == (FlattenedIndexKey(0), SequenceKey(0))


def test_nested_partials_are_not_flattened():
    for inner in (Partial(pow, 2), functools.partial(pow, 2)):
        outer = Partial(inner, 5)
        assert outer() == 32
        assert tree_leaves(outer) == [5]
        assert outer.args == (5,)
        assert tree_structure(outer) == tree_structure(Partial(inner, 6))
        assert "pow" in repr(outer)


def test_tree_structures_hold_no_leaves():
    class Leaf:
        pass

    leaf = Leaf()
    reference = weakref.ref(leaf)
    treedef = tree_structure(Partial(max, leaf))
    del leaf
    gc.collect()
    assert reference() is None
    assert treedef.num_leaves == 1
