# SPDX-License-Identifier: Apache-2.0
"""Scopes that change the types of mesh axes: `auto_axes` and `explicit_axes`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import FlatFunction
from olympus_ir.trees.pytree_prefix import spread_prefix
from olympus_ir.types.placement import AxisType, NamedSharding, PartitionSpec
from olympus_ir.types.resharding import (
    asked_sharding,
    bind_reshard,
    in_auto_axes,
    mesh_scope,
    moved_to,
)

from ..meshes.context import get_abstract_mesh

__all__ = ["auto_axes", "explicit_axes"]


def _chosen_axes(axes: str | tuple[str, ...] | None, mesh: Any) -> tuple:
    if axes is None:
        return mesh.axis_names
    return (axes,) if isinstance(axes, str) else tuple(axes)


def _check_not_manual(axes: tuple, mesh: Any, name: str) -> None:
    manual = [axis for axis in axes if axis in mesh.manual_axes]
    if manual:
        raise NotImplementedError(
            "Going from `Manual` AxisType to `Auto` or `Explicit` AxisType is not allowed: "
            f"{name} inside of shard_map was to change {', '.join(map(repr, manual))}, whose parts "
            "the function handles itself. Name other axes by `axes=`."
        )


def _are_auto(axes: tuple, mesh: Any) -> bool:
    """Returns whether all axes have the type `AxisType.Auto`."""
    return set(mesh.auto_axes).issuperset(axes)


def auto_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: str | tuple[str, ...] | None = None,
    out_sharding: Any = None,
) -> Any:
    """Makes mesh axes automatic inside a function.

    The compiler then partitions values over them.

    Args:
      f: a function of arrays or pytrees of arrays; None returns a decorator.
      axes: the names of the axes; all axes of the mesh by default.
      out_sharding: the sharding of the results: a sharding or a partition spec, or a tree of them
        that is a prefix of the result. It may be given in the call instead.

    Returns:
      A function with the arguments and results of ``f``. Without a current mesh it calls ``f``.

    Raises:
      TypeError: ``out_sharding`` is given neither here nor in the call.

    Example:
      >>> import numpy as np
      >>> import olympus
      >>> from olympus.sharding import AxisType
      >>> with olympus.set_mesh(olympus.make_mesh((1,), ("i",), (AxisType.Explicit,))):
      ...     y = auto_axes(lambda x: x + x, out_sharding=olympus.P("i"))(np.ones(2))
      ...     print(olympus.typeof(y))
      float32[2@i]
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)
    default = out_sharding

    @api_boundary
    @functools.wraps(f)
    def called(*args: Any, out_sharding: Any = None, **kwargs: Any) -> Any:
        requested = default if out_sharding is None else out_sharding
        if requested is None:
            raise TypeError("Missing required keyword argument: 'out_sharding'")
        mesh = get_abstract_mesh()
        if mesh.empty or _are_auto(_chosen_axes(axes, mesh), mesh):
            return f(*args, **kwargs)
        _check_not_manual(_chosen_axes(axes, mesh), mesh, "auto_axes")
        leaves, in_tree = pytrees.tree_flatten((args, kwargs))
        flat = FlatFunction(f, in_tree)

        def out_shardings(count: int) -> list[NamedSharding]:
            return _flat_shardings(requested, flat.out_tree, "auto_axes")

        results = in_auto_axes(flat, leaves, out_shardings, _chosen_axes(axes, mesh))
        return pytrees.tree_unflatten(flat.out_tree, results)

    return called


def explicit_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: str | tuple[str, ...] | None = None,
    in_sharding: Any = None,
) -> Any:
    """Makes mesh axes explicit inside a function, so that types have shardings over them.

    Args:
      f: a function of arrays or pytrees of arrays; None returns a decorator.
      axes: the names of the axes; all axes of the mesh by default.
      in_sharding: the sharding of the arguments: a sharding or a partition spec, or a tree of them
        that is a prefix of the arguments. It may be given in the call instead.

    Returns:
      A function with the arguments and results of ``f``.

    Raises:
      TypeError: ``in_sharding`` is given neither here nor in the call.
      ValueError: no mesh is in force.

    Example:
      >>> import numpy as np
      >>> import olympus
      >>> from olympus.sharding import AxisType
      >>> types = []
      >>> double = explicit_axes(
      ...     lambda x: (types.append(olympus.typeof(x)), x + x)[1], in_sharding=olympus.P("i"))
      >>> with olympus.set_mesh(olympus.make_mesh((1,), ("i",), (AxisType.Auto,))):
      ...     y = double(np.ones(2))
      >>> types
      [ShapedArray(float32[2@i])]
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)
    default = in_sharding

    @api_boundary
    @functools.wraps(f)
    def called(*args: Any, in_sharding: Any = None, **kwargs: Any) -> Any:
        requested = default if in_sharding is None else in_sharding
        if requested is None:
            raise TypeError("Missing required keyword argument: 'in_sharding'")
        mesh = get_abstract_mesh()
        if mesh.empty:
            raise ValueError(
                "Context mesh cannot be empty. Please use `olympus.set_mesh` API to enter into a "
                "mesh context when using `explicit_axes` API."
            )
        chosen = _chosen_axes(axes, mesh)
        _check_not_manual(chosen, mesh, "explicit_axes")
        inside = mesh.update_axis_types(dict.fromkeys(chosen, AxisType.Explicit))
        leaves, in_tree = pytrees.tree_flatten((args, kwargs))
        with mesh_scope(inside):
            flat: list[Any]
            if isinstance(requested, PartitionSpec | NamedSharding):
                flat = [asked_sharding(requested, "explicit_axes")] * len(leaves)
            else:
                flat = _flat_shardings((requested, {}), in_tree, "explicit_axes")
            moved = [
                bind_reshard(leaf, sharding) for leaf, sharding in zip(leaves, flat, strict=True)
            ]
            inner_args, inner_kwargs = pytrees.tree_unflatten(in_tree, moved)
            results, out_tree = pytrees.tree_flatten(f(*inner_args, **inner_kwargs))
        return pytrees.tree_unflatten(out_tree, [moved_to(result, mesh) for result in results])

    return called


def _flat_shardings(prefix: Any, tree: Any, name: str) -> list[NamedSharding]:
    """Returns one sharding for each leaf, from a prefix of the structure."""

    def is_leaf(value: Any) -> bool:
        return isinstance(value, PartitionSpec | NamedSharding)

    target = pytrees.Structure(tree)
    shardings = []
    for leaf in spread_prefix(prefix, target, is_leaf):
        sharding = asked_sharding(leaf, name)
        assert sharding is not None
        shardings.append(sharding)
    return shardings
