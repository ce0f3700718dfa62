# SPDX-License-Identifier: Apache-2.0
"""Views of registries as the containers that libraries expect from JAX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from olympus_batching import vmappables
from olympus_ir._jaxlib import PyTreeDef
from olympus_ir.settings.config import config
from olympus_ir.settings.configuration import State
from olympus_ir.trees.pytree_registry import default_registry, is_tree_node
from olympus_ir.trees.pytrees import tree_structure
from olympus_xla.platforms import backends
from olympus_xla.processes import distributed

_leaf = tree_structure(0)


class _PytreeNode(NamedTuple):
    """Functions that flatten and unflatten instances of a type of pytree nodes."""

    nodetype: type

    def to_iter(self, node: Any) -> tuple[Iterable[Any], Any]:
        """Returns the children of a node, and its auxiliary data."""
        return default_registry.flatten_one_level(node)

    def from_iter(self, aux_data: Any, children: Iterable[Any]) -> Any:
        """Returns a node with the given auxiliary data and children."""
        children = list(children)
        leaves = [_leaf] * len(children)
        data = (self.nodetype, aux_data)
        structure = PyTreeDef.from_node_data_and_children(default_registry, data, leaves)
        return structure.unflatten(children)


class _PytreeNodes:
    """Container of the types that are registered as pytree nodes."""

    def __contains__(self, node_type: object) -> bool:
        return isinstance(node_type, type) and is_tree_node(node_type)

    def __getitem__(self, nodetype: type) -> _PytreeNode:
        if nodetype not in self:
            raise KeyError(nodetype)
        return _PytreeNode(nodetype)


class _Backends(Mapping[str, Any]):
    """Mapping from platforms to their clients; empty until the clients have been made."""

    def _made(self) -> dict[str, Any]:
        return backends.backends() if backends.are_backends_initialized() else {}

    def __getitem__(self, platform: str) -> Any:
        return self._made()[platform]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made())

    def __len__(self) -> int:
        return len(self._made())


class _Member:
    """Attribute of the membership in a program of several processes; tests may replace it."""

    def __init__(self, alone: Any) -> None:
        self.alone = alone

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        known = getattr(distributed._membership, self.name, self.alone)
        return vars(instance).get(self.name, known)

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self.name] = value

    def __delete__(self, instance: Any) -> None:
        vars(instance).pop(self.name, None)


class _Membership:
    """The position of this process among the processes of a program.

    Without a distributed program, this process is the only one.
    """

    client = _Member(None)
    service = _Member(None)
    process_id = _Member(0)
    num_processes = _Member(1)


def is_vmappable(x: object) -> bool:
    """Returns whether `register_vmappable` has registered the class of a value."""
    return type(x) in vmappables._vmappables


distributed_state = _Membership()
pytree_nodes = _PytreeNodes()
made_backends = _Backends()


class _States(Mapping[str, Any]):
    """Mapping from names to the flags that a thread can override, each a context manager."""

    def __getitem__(self, name: str) -> Any:
        try:
            flag = config.flag(name)
        except AttributeError:
            raise KeyError(name) from None
        if not isinstance(flag, State):
            raise KeyError(name)
        return flag

    def __iter__(self) -> Iterator[str]:
        return (name for name in config if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


config_states = _States()
read_flag, update_flag = config.read, config.update
parse_flags_with_absl = config.parse_flags_with_absl
