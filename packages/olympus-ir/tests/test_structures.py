# SPDX-License-Identifier: Apache-2.0
"""Structures used in place of pytrees, without building containers."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import pytest

from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import result_paths
from olympus_ir.trees.pytree_prefix import specification_mismatch
from olympus_ir.trees.structures import Structure

Point = namedtuple("Point", "x y")


class Checked:
    """A container whose constructor inspects its leaf."""

    def __init__(self, leaf):
        if not hasattr(leaf, "shape"):
            raise TypeError(f"{leaf!r} has no shape")
        self.leaf = leaf


pytrees.register_pytree_node(Checked, lambda node: ((node.leaf,), "tag"), lambda _, c: Checked(*c))

TREES = [
    1,
    None,
    (1, [2, (3,)]),
    {"b": 1, "a": (2, None)},
    OrderedDict(b=1, a=[2]),
    Point(1, {"z": 2}),
    [],
]


@pytest.mark.parametrize("tree", TREES)
def test_paths_equal_those_of_the_tree(tree):
    expected = [path for path, _ in pytrees.tree_leaves_with_path(tree)]
    assert Structure(pytrees.tree_structure(tree)).paths() == expected


def test_paths_of_containers_that_refuse_placeholders():
    x = lax.full((2,), 1.0)
    tree = pytrees.tree_structure({"a": Checked(x), "b": 1})
    assert result_paths(tree) == ["result['a'][<flat index 0>]", "result['b']"]


@pytest.mark.parametrize("prefix", [0, (0, [1, 2]), (0, 1), ({"a": 0, "b": 1}, 2)])
def test_prefixes_broadcast_as_over_the_tree(prefix):
    full = ({"a": 1, "b": (2, 3)}, [4, 5])
    structure = Structure(pytrees.tree_structure(full))
    assert pytrees.spread_prefix(prefix, structure) == pytrees.spread_prefix(prefix, full)


@pytest.mark.parametrize("prefix", [(0,), [0, 1], ({"a": 0}, 2), (Point(0, 1), 2), (0, [1])])
def test_mismatch_errors_equal_those_of_the_tree(prefix):
    full = ({"a": 1, "b": (2, 3)}, [4, 5])
    structure = Structure(pytrees.tree_structure(full))
    with pytest.raises(ValueError) as expected:
        pytrees.spread_prefix(prefix, full)
    with pytest.raises(ValueError) as found:
        pytrees.spread_prefix(prefix, structure)
    assert str(found.value) == str(expected.value)
    messages = [str(specification_mismatch("axes", prefix, tree)) for tree in (full, structure)]
    assert messages[0] == messages[1]


def test_jit_does_not_build_containers_around_placeholders():
    result = jit(lambda tree: Checked(lax.mul(tree.leaf, 2.0)))(Checked(lax.full((2,), 3.0)))
    assert result.leaf.tolist() == [6.0, 6.0]


def test_carries_of_containers_that_refuse_placeholders():
    with pytest.raises(TypeError, match=r"carry component c\[<flat index 0>\] has type float32"):
        lax.scan(
            lambda c, _: (Checked(lax.convert_element_type(c.leaf, int)), None),
            Checked(lax.full((2,), 3.0)),
            None,
            length=2,
        )
