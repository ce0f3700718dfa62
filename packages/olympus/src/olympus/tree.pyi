# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.trees.deep_trees import tree_flatten as _tree_flatten
from olympus_ir.trees.pytree_paths import tree_flatten_with_path as _tree_flatten_with_path
from olympus_ir.trees.pytree_paths import tree_leaves_with_path as _tree_leaves_with_path
from olympus_ir.trees.pytree_paths import tree_map_with_path as _tree_map_with_path
from olympus_ir.trees.pytree_prefix import tree_broadcast as _tree_broadcast
from olympus_ir.trees.pytree_registry import static_field as _static_field
from olympus_ir.trees.pytrees import tree_all as _tree_all
from olympus_ir.trees.pytrees import tree_leaves as _tree_leaves
from olympus_ir.trees.pytrees import tree_map as _tree_map
from olympus_ir.trees.pytrees import tree_reduce as _tree_reduce
from olympus_ir.trees.pytrees import tree_reduce_associative as _tree_reduce_associative
from olympus_ir.trees.pytrees import tree_structure as _tree_structure
from olympus_ir.trees.pytrees import tree_transpose as _tree_transpose
from olympus_ir.trees.pytrees import tree_unflatten as _tree_unflatten
all = _tree_all
broadcast = _tree_broadcast
flatten = _tree_flatten
flatten_with_path = _tree_flatten_with_path
leaves = _tree_leaves
leaves_with_path = _tree_leaves_with_path
map = _tree_map
map_with_path = _tree_map_with_path
reduce = _tree_reduce
reduce_associative = _tree_reduce_associative
static = _static_field
structure = _tree_structure
transpose = _tree_transpose
unflatten = _tree_unflatten
