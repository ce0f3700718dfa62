# SPDX-License-Identifier: Apache-2.0
"""Operations on pytrees under short names."""

from olympus_ir.trees.pytrees import static_field as static
from olympus_ir.trees.pytrees import tree_all as all
from olympus_ir.trees.pytrees import tree_broadcast as broadcast
from olympus_ir.trees.pytrees import tree_flatten as flatten
from olympus_ir.trees.pytrees import tree_flatten_with_path as flatten_with_path
from olympus_ir.trees.pytrees import tree_leaves as leaves
from olympus_ir.trees.pytrees import tree_leaves_with_path as leaves_with_path
from olympus_ir.trees.pytrees import tree_map as map
from olympus_ir.trees.pytrees import tree_map_with_path as map_with_path
from olympus_ir.trees.pytrees import tree_reduce as reduce
from olympus_ir.trees.pytrees import tree_reduce_associative as reduce_associative
from olympus_ir.trees.pytrees import tree_structure as structure
from olympus_ir.trees.pytrees import tree_transpose as transpose
from olympus_ir.trees.pytrees import tree_unflatten as unflatten

from ._faces import present as _present

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]

_present(__name__)
