# SPDX-License-Identifier: Apache-2.0
"""Which types are nodes of pytrees, as a container."""

from __future__ import annotations

from olympus_ir.pytree_registry import is_tree_node


class _Registry:
    """Contains the types that are nodes of pytrees."""

    def __contains__(self, node_type: object) -> bool:
        return isinstance(node_type, type) and is_tree_node(node_type)


registry = _Registry()
