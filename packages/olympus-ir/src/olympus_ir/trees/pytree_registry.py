# SPDX-License-Identifier: Apache-2.0
"""Types that are nodes of pytrees, and functions that register such types."""

from __future__ import annotations

import functools
import operator
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .._jaxlib import DictKey, call_registry, none_leaf_registry, pytree_registry
from ..loading import deferred

if TYPE_CHECKING:
    import dataclasses
else:
    dataclasses = deferred("dataclasses", milliseconds=1.0)

__all__ = [
    "Partial",
    "default_registry",
    "is_tree_node",
    "none_leaf_registry",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "static_field",
]

Node = TypeVar("Node")
NodeType = TypeVar("NodeType", bound=type)
Children = Iterable[Any]
AuxData = Any  # hashable
KeyLeafPairs = Iterable[tuple[Any, Any]]

default_registry = pytree_registry
# In `none_leaf_registry`, None is a leaf. This registry serves trees of options, such as in_axes.
_registries = (pytree_registry, none_leaf_registry, call_registry)


def register_pytree_node(
    nodetype: type[Node],
    flatten_func: Callable[[Node], tuple[Children, AuxData]],
    unflatten_func: Callable[[AuxData, Any], Node],
    flatten_with_keys_func: Callable[[Node], tuple[KeyLeafPairs, AuxData]] | None = None,
) -> None:
    """Registers a type whose instances are nodes of pytrees.

    Args: nodetype: the type; subclasses must be registered separately. flatten_func: takes an
      instance, and returns its children and auxiliary data. The auxiliary data is part of the
      tree's structure and must be hashable and comparable. unflatten_func: takes auxiliary data and
      children, and returns an instance. The children may be any objects; do not check or convert
      them. flatten_with_keys_func: a function like ``flatten_func``, with pairs of a key and a
      child in place of children. The keys appear in paths. By default, the keys are positions.

    Raises:
        ValueError: the type is already registered.

    See Also:
        `register_pytree_node_class`, `register_dataclass`, `register_static`.

    Example:
        >>> from olympus_ir.trees import pytrees
        >>> class Pair:
        ...     def __init__(self, first, second):
        ...         self.first, self.second = first, second
        >>> register_pytree_node(
        ...     Pair, lambda pair: ((pair.first, pair.second), None), lambda _, both: Pair(*both)
        ... )
        >>> pytrees.tree_leaves([Pair(1, 2), 3])
        [1, 2, 3]
    """
    for registry in _registries:
        registry.register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)


def register_pytree_node_class(cls: NodeType) -> NodeType:
    """Registers a class by its methods ``tree_flatten`` and ``tree_unflatten``; a decorator.

    ``self.tree_flatten()`` returns children and auxiliary data; ``tree_unflatten(aux_data,
    children)`` is a class method that returns an instance.

    Example:
        >>> from olympus_ir.trees import pytrees
        >>> @register_pytree_node_class
        ... class Box:
        ...     def __init__(self, content):
        ...         self.content = content
        ...     def tree_flatten(self):
        ...         return (self.content,), None
        ...     @classmethod
        ...     def tree_unflatten(cls, aux_data, children):
        ...         return cls(*children)
        >>> pytrees.tree_map(lambda x: x + 1, Box(1)).content
        2
    """
    register_pytree_node(cls, operator.methodcaller("tree_flatten"), cls.tree_unflatten)  # type: ignore[attr-defined]
    return cls


def register_pytree_with_keys(
    nodetype: type[Node],
    flatten_with_keys: Callable[[Node], tuple[KeyLeafPairs, AuxData]],
    unflatten_func: Callable[[AuxData, Any], Node],
    flatten_func: Callable[[Node], tuple[Children, AuxData]] | None = None,
) -> None:
    """Registers a type whose instances are nodes of pytrees, with keys that name the children.

    Args:
        nodetype: the type.
        flatten_with_keys: takes an instance, and returns pairs of a key (`DictKey`, `GetAttrKey`,
            `SequenceKey` or anything hashable with a `str`) and a child, and auxiliary data.
        unflatten_func: takes auxiliary data and children, and returns an instance.
        flatten_func: optionally, a faster function that returns the children without keys.

    Example:
        >>> from olympus_ir.trees import pytrees
        >>> class Named:
        ...     def __init__(self, value):
        ...         self.value = value
        >>> register_pytree_with_keys(
        ...     Named,
        ...     lambda node: (((pytrees.GetAttrKey("value"), node.value),), None),
        ...     lambda _, children: Named(*children),
        ... )
        >>> pytrees.tree_leaves_with_path(Named(1))
        [((GetAttrKey(name='value'),), 1)]
    """

    def flatten_without_keys(node: Node) -> tuple[Children, AuxData]:
        pairs, aux_data = flatten_with_keys(node)
        return [child for _, child in pairs], aux_data

    register_pytree_node(
        nodetype, flatten_func or flatten_without_keys, unflatten_func, flatten_with_keys
    )


def register_pytree_with_keys_class(cls: NodeType) -> NodeType:
    """Registers a class by its methods ``tree_flatten_with_keys`` and ``tree_unflatten``.

    This function is a decorator. If the class has a method ``tree_flatten``, it is used when keys
    are not needed.

    Example:
        >>> from olympus_ir.trees import pytrees
        >>> @register_pytree_with_keys_class
        ... class Layer:
        ...     def __init__(self, weight):
        ...         self.weight = weight
        ...     def tree_flatten_with_keys(self):
        ...         return ((pytrees.GetAttrKey("weight"), self.weight),), None
        ...     @classmethod
        ...     def tree_unflatten(cls, aux_data, children):
        ...         return cls(*children)
        >>> pytrees.keystr(pytrees.tree_leaves_with_path([Layer(1)])[0][0])
        '[0].weight'
    """
    flatten = operator.methodcaller("tree_flatten") if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(
        cls,
        operator.methodcaller("tree_flatten_with_keys"),
        cls.tree_unflatten,  # type: ignore[attr-defined]
        flatten,
    )
    return cls


def register_dataclass(
    nodetype: NodeType,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> NodeType:
    """Registers a dataclass whose instances are nodes of pytrees; may be used as a decorator.

    Args:
        nodetype: the dataclass, or any class whose constructor takes the fields by name.
        data_fields: the fields that are children. By default all fields that the constructor takes,
            except those marked as static, ``dataclasses.field(metadata={"static": True})``.
        meta_fields: the fields that belong to the tree's structure; hashable and comparable. They
            must be given together with ``data_fields``.
        drop_fields: fields that are left out; their defaults are restored.

    Returns:
        ``nodetype``.

    Raises:
        TypeError: fields are missing for a class that is not a dataclass, or only one of
            ``data_fields`` and ``meta_fields`` is given.
        ValueError: the class has other fields, or is already registered.

    Example:
        >>> from olympus_ir.trees import pytrees
        >>> import dataclasses
        >>> @register_dataclass
        ... @dataclasses.dataclass
        ... class Model:
        ...     weight: float
        ...     name: str = static_field(default="linear")
        >>> pytrees.tree_map(lambda x: 2 * x, Model(1.5))
        Model(weight=3.0, name='linear')
    """
    if (data_fields is None) != (meta_fields is None):
        raise TypeError(
            "register_dataclass: data_fields and meta_fields must both be specified when either is "
            f"specified. Got {data_fields=} {meta_fields=}."
        )
    is_dataclass = dataclasses.is_dataclass(nodetype)
    if data_fields is None or meta_fields is None:
        if not is_dataclass:
            raise TypeError(
                "register_dataclass: data_fields and meta_fields are required when nodetype is not "
                f"a dataclass. Got {nodetype=}."
            )
        fields = [f for f in dataclasses.fields(nodetype) if f.name not in drop_fields]
        data_fields = [f.name for f in fields if not f.metadata.get("static", False)]
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
    else:
        data_fields, meta_fields = list(data_fields), list(meta_fields)
    _check_fields(nodetype, is_dataclass, data_fields, meta_fields, drop_fields)
    for registry in _registries:
        registry.register_dataclass_node(nodetype, data_fields, meta_fields)
    return nodetype


def _check_fields(
    nodetype: Any,
    is_dataclass: bool,
    data_fields: Sequence[str],
    meta_fields: Sequence[str],
    drop_fields: Sequence[str],
) -> None:
    if both := set(data_fields) & set(meta_fields):
        raise ValueError(
            f"register_dataclass: fields cannot be both data and metadata: {sorted(both)}."
        )
    if not is_dataclass:
        return
    expected = {field.name for field in dataclasses.fields(nodetype) if field.init}
    expected -= set(drop_fields)
    registered = {*data_fields, *meta_fields}
    if missing := expected - registered:
        raise ValueError(
            "register_dataclass: data_fields and meta_fields must include all dataclass fields "
            f"that the constructor of {nodetype.__name__} takes. Missing fields: {missing}. Add "
            "them to one of these, or to drop_fields."
        )
    if unexpected := registered - expected:
        raise ValueError(
            "register_dataclass: data_fields and meta_fields must include all dataclass fields "
            f"that the constructor of {nodetype.__name__} takes, and no others. Unexpected fields: "
            f"{unexpected}. Name fields that it does not take in drop_fields."
        )


def static_field(**kwargs: Any) -> Any:
    """Returns a field of a dataclass that `register_dataclass` treats as metadata.

    Args:
        **kwargs: the arguments of `dataclasses.field`.

    Example:
        >>> @register_dataclass
        ... @dataclasses.dataclass
        ... class Layer:
        ...     weight: float
        ...     name: str = static_field()
        >>> from olympus_ir.trees import pytrees
        >>> pytrees.tree_leaves(Layer(1.0, "first"))
        [1.0]
    """
    metadata = {"static": True, **(kwargs.pop("metadata", None) or {})}
    return dataclasses.field(metadata=metadata, **kwargs)


def register_static(cls: NodeType) -> NodeType:
    """Registers a class whose instances are part of a pytree's structure; also a decorator.

    The instances are nodes without children. Compiled functions are traced again for each instance
    that differs from earlier instances, so instances need a hash and equality.

    Example:
        >>> from olympus_ir.trees import pytrees
        >>> @register_static
        ... class Mode(str):
        ...     pass
        >>> pytrees.tree_leaves([Mode("train"), 1])
        [1]
    """
    register_pytree_with_keys(cls, lambda node: ((), node), lambda node, _: node)
    return cls


def is_tree_node(typ: type) -> bool:
    """Returns whether instances of a type are nodes of pytrees, as opposed to leaves.

    Example:
        >>> is_tree_node(list), is_tree_node(int)
        (True, False)
    """
    return pytree_registry.is_node(typ)


# --- Types of the standard library ---------------------------------------------------------------

register_pytree_node(
    OrderedDict,
    lambda node: (tuple(node.values()), tuple(node)),
    lambda keys, values: OrderedDict(zip(keys, values, strict=True)),
    lambda node: (tuple((DictKey(key), value) for key, value in node.items()), tuple(node)),
)


def _flatten_defaultdict(node: defaultdict) -> tuple[Children, AuxData]:
    keys = tuple(sorted(node))
    return tuple(node[key] for key in keys), (node.default_factory, keys)


def _flatten_defaultdict_with_keys(node: defaultdict) -> tuple[KeyLeafPairs, AuxData]:
    keys = tuple(sorted(node))
    return tuple((DictKey(key), node[key]) for key in keys), (node.default_factory, keys)


register_pytree_node(
    defaultdict,
    _flatten_defaultdict,
    lambda aux, values: defaultdict(aux[0], zip(aux[1], values, strict=True)),
    _flatten_defaultdict_with_keys,
)


class _WrappedPartial:
    """Wrapper of a `functools.partial` that another partial function would otherwise absorb."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]):
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _WrappedPartial) and self.function == other.function

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return repr(self.function)


class Partial(functools.partial):
    """`functools.partial` as a pytree, with arguments as children and the function as structure.

    A partial can be passed through transformations, even with arrays among its arguments.

    Args:
        func: the function.
        *args: the first arguments.
        **kw: the keyword arguments.

    Example:
        >>> from olympus_ir.trees import pytrees
        >>> power = Partial(pow, 2)
        >>> power(5)
        32
        >>> pytrees.tree_map(lambda x: x + 1, power)(5)
        243
    """

    def __new__(cls, func: Callable[..., Any], *args: Any, **kw: Any) -> Partial:
        # functools.partial merges nested partial functions, which would turn the inner function's
        # arguments into children and change the structure.
        if isinstance(func, functools.partial):
            func = _WrappedPartial(func)
        return super().__new__(cls, func, *args, **kw)


register_pytree_node(
    Partial,
    lambda node: ((node.args, node.keywords), node.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
