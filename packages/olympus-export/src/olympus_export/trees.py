# SPDX-License-Identifier: Apache-2.0
"""Conversion of the pytree structures of exported functions to JSON and back."""

from __future__ import annotations

import base64
import collections
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from olympus_ir._jaxlib import pytree_registry
from olympus_ir.settings.naming import naming
from olympus_ir.trees import pytrees

__all__ = [
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
    "tree_from_json",
    "tree_to_json",
]

_LEAF = pytrees.tree_structure(0)
_NONE = pytrees.tree_structure(None)


class _NodeSerialization(NamedTuple):
    nodetype: type
    serialized_name: str
    serialize_auxdata: Callable[[Any], bytes]
    deserialize_auxdata: Callable[[bytes], Any]
    from_children: Callable[[Any, Sequence[Any]], Any] | None


_by_type: dict[type, _NodeSerialization] = {}
_by_name: dict[str, _NodeSerialization] = {}


def register_pytree_node_serialization(
    nodetype: type,
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> type:
    """Registers the serialization of nodes of a type in structures of exported functions.

    Args:
      nodetype: a type registered as a node of pytrees, in each process that reads or writes.
      serialized_name: the name of the type in the file.
      serialize_auxdata: converts the node's static data to bytes.
      deserialize_auxdata: converts bytes to the static data.
      from_children: makes a node from static data and children; by default the function with which
        the type was registered as a node.

    Returns:
      ``nodetype``.

    Raises:
      ValueError: the type, or the name, is registered already, or the type is not a node of pytrees
        and ``from_children`` is not given.

    Example:
      >>> import olympus
      >>> @olympus.tree_util.register_pytree_node_class
      ... class Point:
      ...     def __init__(self, x, unit): self.x, self.unit = x, unit
      ...     def tree_flatten(self): return (self.x,), self.unit
      ...     @classmethod
      ...     def tree_unflatten(cls, unit, children): return cls(*children, unit)
      >>> _ = register_pytree_node_serialization(
      ...     Point, serialized_name="example.Point",
      ...     serialize_auxdata=str.encode, deserialize_auxdata=bytes.decode)
    """
    if nodetype in _by_type:
        raise ValueError(
            f"Duplicate serialization registration for type `{nodetype}`. Previous registration "
            f"was with serialized_name `{_by_type[nodetype].serialized_name}`."
        )
    if serialized_name in _by_name:
        raise ValueError(
            f"Duplicate serialization registration for serialized_name `{serialized_name}`. "
            f"Previous registration was for type `{_by_name[serialized_name].nodetype}`."
        )
    if from_children is None and not _is_node(nodetype):
        raise ValueError(
            "If `from_children` is not present, you must call first "
            f"`{naming.module}.tree_util.register_pytree_node` for `{nodetype}`"
        )
    serialization = _NodeSerialization(
        nodetype, serialized_name, serialize_auxdata, deserialize_auxdata, from_children
    )
    _by_type[nodetype] = _by_name[serialized_name] = serialization
    return nodetype


def _is_node(nodetype: type) -> bool:
    """Returns whether values of a type are nodes of pytrees."""
    if nodetype in (tuple, list, dict) or _is_namedtuple(nodetype):
        return True
    try:
        leaves = type(_LEAF).from_node_data_and_children(pytree_registry, (nodetype, None), [])
    except RuntimeError:  # the registry does not know the type
        return False
    return leaves.num_leaves == 0


def register_namedtuple_serialization(nodetype: type, *, serialized_name: str) -> type:
    """Registers the serialization of a named tuple in structures of exported functions.

    Args:
      nodetype: the type.
      serialized_name: the name of the type in the file.

    Returns:
      ``nodetype``.

    Raises:
      TypeError: ``nodetype`` is not a type.
      ValueError: ``nodetype`` is not a named tuple, or is registered already.

    Example:
      >>> import collections
      >>> Pair = collections.namedtuple("Pair", "first second")
      >>> _ = register_namedtuple_serialization(Pair, serialized_name="example.Pair")
    """
    if not isinstance(nodetype, type):
        raise TypeError(
            f"register_namedtuple_serialization: nodetype must be a class, got {nodetype!r}"
        )
    if not _is_namedtuple(nodetype):
        raise ValueError(
            f"{nodetype} is not a named tuple. Use "
            "`olympus.export.register_pytree_node_serialization` for types other than "
            "`collections.namedtuple`."
        )
    return register_pytree_node_serialization(
        nodetype,
        serialized_name=serialized_name,
        serialize_auxdata=lambda _: b"",
        deserialize_auxdata=lambda _: None,
    )


def _is_namedtuple(nodetype: type) -> bool:
    return issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")


def _keys_to_bytes(keys: Sequence[Any]) -> bytes:
    return "\0".join(_checked_key(key) for key in keys).encode()


def _keys_from_bytes(data: bytes) -> tuple[str, ...]:
    return tuple(data.decode().split("\0")) if data else ()


register_pytree_node_serialization(
    collections.OrderedDict,
    serialized_name="collections.OrderedDict",
    serialize_auxdata=_keys_to_bytes,
    deserialize_auxdata=_keys_from_bytes,
)


def _checked_key(key: Any) -> str:
    if not isinstance(key, str) or "\0" in key:
        raise TypeError(
            "Serialization is supported only for dictionaries with string keys. Found key "
            f"{key} of type {type(key)}. Keys must not have null characters."
        )
    return key


# ---- structures ----


def tree_to_json(tree: Any) -> Any:
    """Returns a structure as JSON, with null for each leaf.

    Raises:
      TypeError: a dictionary has keys that are not strings.
      ValueError: the structure has nodes of types that are not registered.
    """
    node = tree.node_data()
    if node is None:
        return None
    kind, auxdata = node
    children = list(map(tree_to_json, tree.children()))
    if kind is type(None):
        return {"kind": "none"}
    if kind in (tuple, list):
        return {"kind": kind.__name__, "children": children}
    if kind is dict:
        return {"kind": "dict", "keys": list(map(_checked_key, auxdata)), "children": children}
    serialization = _by_type.get(kind)
    if serialization is None:
        raise ValueError(
            f"Cannot serialize PyTreeDef containing an unregistered type `{kind}`. Use "
            "`export.register_pytree_node_serialization` or "
            "`export.register_namedtuple_serialization`."
        )
    data = serialization.serialize_auxdata(auxdata)
    return {
        "kind": "custom",
        "name": serialization.serialized_name,
        "auxdata": base64.b64encode(data).decode(),
        "children": children,
    }


def tree_from_json(data: Any) -> Any:
    """Returns the structure that `tree_to_json` wrote.

    Raises:
      ValueError: the structure has nodes of types that are not registered in this process.
    """
    if data is None:
        return _LEAF
    if data["kind"] == "none":
        return _NONE
    children = list(map(tree_from_json, data["children"]))
    if data["kind"] == "dict":
        _check_keys(data["keys"], children)
    match data["kind"]:
        case "tuple":
            node: tuple[type, Any] = (tuple, None)
        case "list":
            node = (list, None)
        case "dict":
            node = (dict, data["keys"])
        case _:
            serialization = _by_name.get(data["name"])
            if serialization is None:
                raise ValueError(
                    f"Cannot deserialize a PyTreeDef with a node of type `{data['name']}`: it is "
                    "not registered here. Register it as in the process that serialized it, with "
                    "`export.register_pytree_node_serialization` or "
                    "`export.register_namedtuple_serialization`."
                )
            auxdata = serialization.deserialize_auxdata(base64.b64decode(data["auxdata"]))
            if serialization.from_children is not None:
                subtrees = [pytrees.tree_unflatten(c, [0] * c.num_leaves) for c in children]
                return pytrees.tree_structure(serialization.from_children(auxdata, subtrees))
            node = (serialization.nodetype, auxdata)
            if serialization.nodetype is collections.OrderedDict:
                _check_keys(auxdata, children)
            fields = getattr(serialization.nodetype, "_fields", children)
            if _is_namedtuple(serialization.nodetype) and len(fields) != len(children):
                raise ValueError(f"a node of type {data['name']} has {len(children)} children")
    return type(_LEAF).from_node_data_and_children(pytree_registry, node, children)


def _check_keys(keys: Sequence[Any], children: Sequence[Any]) -> None:
    """Raises ValueError unless each child has a key of its own, because C++ does not check this."""
    if (
        len(keys) != len(children)
        or len(set(keys)) != len(keys)
        or not all(type(key) is str for key in keys)
    ):
        raise ValueError(f"a dictionary of {len(children)} values has the keys {keys!r}")
