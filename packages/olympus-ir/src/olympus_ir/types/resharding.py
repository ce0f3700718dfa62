# SPDX-License-Identifier: Apache-2.0
"""Resharding of results to shardings that users request with ``out_sharding``.

The resharding primitive belongs to the package olympus-sharding, which installs it here. Packages
below olympus-sharding use it through this module.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

from ..diagnostics import source_info
from ..diagnostics.name_stacks import no_names
from ..diagnostics.source_info import SourceInfo, capture
from ..settings import config_states
from ..trees import pytrees
from .arrays import Array
from .avals import get_aval
from .layouts import axes_of_entry, mesh_in_force
from .placement import UNCONSTRAINED, AbstractMesh, AxisType, NamedSharding, PartitionSpec

__all__ = [
    "asked_sharding",
    "bind_reshard",
    "check_axes_explicit",
    "in_auto_axes",
    "install_reshard",
    "laid_out",
    "mesh_scope",
    "moved_to",
    "with_out_sharding",
]


class _Installed:
    """Slot for the function that reshards a value: `(value, named_sharding, concrete_mesh)`."""

    bind: Callable[[Any, NamedSharding, Any], Any] | None = None


def install_reshard(bind: Callable[[Any, NamedSharding, Any], Any]) -> None:
    """Sets the function that `bind_reshard` calls."""
    _Installed.bind = bind


def bind_reshard(value: Any, sharding: NamedSharding, concrete_mesh: Any = None) -> Any:
    """Reshards a value with the installed function.

    Also moves a value to a mesh whose axes have other types.

    Args:
      value: the array.
      sharding: the new sharding, over an abstract mesh.
      concrete_mesh: the mesh of devices, if the user gave one.
    """
    if _Installed.bind is None:
        raise ModuleNotFoundError(
            "values are sharded over meshes by the package olympus-sharding, which is not loaded: "
            "import olympus_sharding"
        )
    return _Installed.bind(value, sharding, concrete_mesh)


def asked_sharding(sharding_or_spec: Any, name: str) -> NamedSharding | None:
    """Converts a user's ``out_sharding`` to a sharding over an abstract mesh.

    Args:
      sharding_or_spec: a `NamedSharding`, or a partition spec over the current mesh, or None.
      name: the name of the user's function, for error messages.

    Raises:
      TypeError: ``sharding_or_spec`` has an unsupported type.
      ValueError: there is no current mesh, or axes are not of type `AxisType.Explicit`.
    """
    if sharding_or_spec is None:
        return None
    if isinstance(sharding_or_spec, PartitionSpec):
        mesh = mesh_in_force()
        if mesh.empty:
            raise ValueError(
                "Using PartitionSpec when you are not under a mesh context is not allowed. Please "
                "pass a NamedSharding instance or enter into a mesh context via "
                f"`olympus.set_mesh`. Got {sharding_or_spec}"
            )
        sharding = NamedSharding(mesh, sharding_or_spec)
    elif type(sharding_or_spec) is NamedSharding:
        sharding = sharding_or_spec
        if type(sharding.mesh) is not AbstractMesh:
            sharding = NamedSharding(
                sharding.mesh.abstract_mesh, sharding.spec, memory_kind=sharding_or_spec.memory_kind
            )
        if sharding.mesh.empty:  # the value is outside of any mesh
            return None
    else:
        raise TypeError(
            f"`out_sharding` argument of {name} only supports instances of `NamedSharding` or "
            f"`PartitionSpec`. Got {sharding_or_spec} of type: {type(sharding_or_spec)}"
        )
    _check_mesh(sharding, name)
    check_axes_explicit(sharding, name)
    return sharding


def _check_mesh(sharding: NamedSharding, name: str) -> None:
    if sharding.memory_kind is not None and sharding.memory_kind not in ("device", "unpinned_host"):
        raise ValueError(
            "sharding with memory_kind is not allowed. Please use `olympus.device_put` to transfer "
            f"to different memory spaces. Got {sharding=} passed to {name}"
        )
    around = mesh_in_force()
    mesh = sharding.mesh
    if name != "reshard" and not (around.empty or mesh is around or around == mesh):
        raise ValueError(
            f"Context mesh {around} should match the mesh of sharding {mesh} passed to {name}. "
            "This error occurs at source: "
            f"{source_info.summarize(SourceInfo(capture(), no_names))}"
        )


def check_axes_explicit(sharding: NamedSharding, name: str) -> None:
    """Raises ValueError if a sharding names axes that are not of type `AxisType.Explicit`."""
    spec, mesh = sharding.spec, sharding.mesh
    if mesh.are_all_axes_explicit and not spec.unreduced and not spec.reduced:
        return
    types = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    for entry in spec:
        if entry is UNCONSTRAINED:
            raise ValueError(
                f"PartitionSpec passed to {name} cannot contain `P.UNCONSTRAINED`. Got {spec}"
            )
        for axis in axes_of_entry(entry):
            if types[axis] is not AxisType.Explicit:
                raise ValueError(
                    f"PartitionSpec passed to {name} cannot contain axis names that are of type "
                    f"Auto or Manual. Got PartitionSpec: {spec} with axis name: {axis} of type: "
                    f"AxisType.{types[axis].name}. This error occurs at source: "
                    f"{source_info.summarize(SourceInfo(capture(), no_names))}"
                )


# ---- functions under automatic mesh axes ----


class mesh_scope:
    """Context manager that makes an abstract mesh the current mesh."""

    __slots__ = ("_mesh", "_previous")

    def __init__(self, mesh: AbstractMesh) -> None:
        self._mesh = mesh

    def __enter__(self) -> None:
        self._previous = config_states.abstract_mesh.swap_local(self._mesh)

    def __exit__(self, *exception: object) -> None:
        config_states.abstract_mesh.set_local(self._previous)


def moved_to(value: Any, mesh: AbstractMesh) -> Any:
    """Moves a value, with its partition spec, to a mesh with other axis types."""
    if not isinstance(value, Array):
        return value  # a constant is valid in any mesh
    layout = get_aval(value).layout
    spec = PartitionSpec() if layout is None else layout.spec
    if spec.reduced:
        # Only explicit axes can be reduced, because the compiler does not track unreduced
        # cotangents.
        spec = spec.update(reduced=spec.reduced & frozenset(mesh.explicit_axes))
    return bind_reshard(value, NamedSharding(mesh, spec))


def in_auto_axes(
    fun: Callable[..., Sequence[Any]],
    args: Sequence[Any],
    out_shardings: Callable[[int], Sequence[NamedSharding]],
    axes: Sequence[Any] | None = None,
) -> list[Any]:
    """Calls a function of flat arguments with mesh axes of type `AxisType.Auto`.

    Within the function, the compiler partitions values over these axes.

    Args:
      fun: the function.
      args: the arguments.
      out_shardings: takes the number of results, and returns their shardings over the current mesh.
      axes: the axes of the mesh that are automatic within the function; all by default.
    """
    mesh = mesh_in_force()
    chosen = mesh.axis_names if axes is None else axes
    inside = mesh.update_axis_types(dict.fromkeys(chosen, AxisType.Auto))
    moved = [moved_to(arg, inside) for arg in args]
    with mesh_scope(inside):
        results = list(fun(*moved))
    shardings = out_shardings(len(results))
    # Reshard under the inner mesh, so the compiler partitions the results and their cotangents
    # there.
    with mesh_scope(inside):
        return [
            bind_reshard(result, sharding)
            for result, sharding in zip(results, shardings, strict=True)
        ]


def with_out_sharding(
    fun: Callable[..., Any],
    args: Sequence[Any],
    out_sharding: Any,
    name: str,
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """Calls a function under automatic mesh axes and reshards its single result.

    Args:
      fun: the function.
      args: the arguments: arrays, pytrees of arrays, and other values.
      out_sharding: the sharding that the user requested.
      name: the name of the function, for error messages.
      kwargs: the keyword arguments.
    """
    sharding = asked_sharding(out_sharding, name)
    if sharding is None:
        return fun(*args, **(kwargs or {}))
    leaves, tree = pytrees.tree_flatten((tuple(args), kwargs or {}))

    def flat(*flat_args: Any) -> list[Any]:
        inner_args, inner_kwargs = pytrees.tree_unflatten(tree, flat_args)
        return [fun(*inner_args, **inner_kwargs)]

    if not mesh_in_force().empty:
        return in_auto_axes(flat, leaves, lambda count: [sharding])[0]
    with mesh_scope(sharding.mesh):
        return in_auto_axes(flat, leaves, lambda count: [sharding])[0]


F = TypeVar("F", bound=Callable[..., Any])


@overload
def laid_out(sampler: F, *, position: int | None = None) -> F: ...
@overload
def laid_out(*, position: int | None = None) -> Callable[[F], F]: ...
def laid_out(
    sampler: Callable[..., Any] | None = None, *, position: int | None = None
) -> Callable[..., Any]:
    """Adds the argument ``out_sharding``, the sharding of the result, to samplers.

    Args:
      sampler: the function. If not given, returns a decorator.
      position: the position of ``out_sharding``, if it may be given by position.
    """
    if sampler is None:
        return lambda sampler: laid_out(sampler, position=position)
    made = sampler

    @functools.wraps(made)
    def sampled(*args: Any, **kwargs: Any) -> Any:
        if position is not None and len(args) > position:
            kwargs["out_sharding"] = args[position]
            args = args[:position]
        if kwargs.get("out_sharding") is None:
            return made(*args, **kwargs)
        out_sharding = kwargs.pop("out_sharding")
        return with_out_sharding(made, args, out_sharding, made.__name__, kwargs)

    return sampled
