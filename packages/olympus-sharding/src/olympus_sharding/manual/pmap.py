# SPDX-License-Identifier: Apache-2.0
"""`pmap`: maps a function over a dimension of its arguments, one device for each index.

`pmap` is a compiled `shard_map` over a mesh of one axis. The arguments of the mapped function do
not have the mapped dimension.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.programs.jit import jit
from olympus_ir.programs.tracing import current, evaluation_trace
from olympus_ir.settings import config_states
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import debug_info_of_tree, function_name
from olympus_ir.trees.pickled_functions import travels
from olympus_ir.trees.pytree_prefix import spread_prefix
from olympus_ir.trees.wrapping import wraps
from olympus_ir.types.annotations import AxisName, PyTree
from olympus_ir.types.avals import get_aval
from olympus_ir.types.placement import Device, PartitionSpec

from ..meshes import mesh as _mesh
from ..meshes.mesh import Mesh
from ..shardings.behavior import IndivisibleError, NamedSharding
from .shard_map import apply_shard_map

__all__ = ["pmap"]

# The name of the mapped axis if the user gives none.
_DEFAULT_AXIS_NAME = "_internal_pmap_axis_name"


@travels
def pmap(
    fun: Callable[..., Any],
    axis_name: AxisName = None,
    *,
    in_axes: PyTree = 0,
    out_axes: PyTree = 0,
    static_broadcasted_argnums: int | Sequence[int] = (),
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Any:
    """Maps a function over a dimension of its arguments, one device for each index.

    `pmap` is like `vmap`, but the calls run in parallel on different devices, and collectives such
    as `lax.psum` communicate between the devices. The function is compiled, as by `jit`.

    In a program of several processes, each process passes the slices for its own devices and gets
    the results of these devices. Collectives communicate between the devices of all processes.

    Args:
      fun: a function of arrays or pytrees of arrays.
      axis_name: the name by which collectives in ``fun`` refer to the mapped dimension.
      in_axes: the mapped dimension of each positional argument, or None to broadcast it; an int, or
        a pytree of them that is a prefix of the arguments. Keyword arguments are mapped over their
        first dimension.
      out_axes: the mapped dimension of the results, in the same form; None for results that are
        equal on all devices.
      static_broadcasted_argnums: the positions of static arguments, which must be hashable.
      devices: the devices. None takes as many devices of the default backend as the mapped
        dimension needs.
      backend: the platform whose devices are used.
      axis_size: the size of the mapped dimension, which is checked.
      donate_argnums: the positions of arguments whose buffers the results may reuse.

    Returns:
      A function with the arguments and results of ``fun``, with the mapped dimension.

    Raises:
      TypeError: ``fun`` is not callable, or axes are not ints or None.
      ValueError: on the call, the mapped dimension is larger than the number of devices, or has
        different sizes in the arguments.

    Example:
      >>> import numpy as np
      >>> from olympus import lax
      >>> normalized = pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")
      >>> normalized(np.ones((1, 2)))
      Array([[1., 1.]], dtype=float32)
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r} of type {type(fun).__name__}")
    _check_axes("in", in_axes)
    _check_axes("out", out_axes)
    if devices is not None and not len(devices):
        raise ValueError("'devices' argument to pmap must be non-empty, or None.")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    mapping = _Mapping(
        fun,
        _DEFAULT_AXIS_NAME if axis_name is None else axis_name,
        in_axes,
        out_axes,
        _numbers(static_broadcasted_argnums),
        None if devices is None else list(devices),
        backend,
        axis_size,
        _numbers(donate_argnums),
    )
    forms = _CompiledForms(mapping)

    @api_boundary
    @wraps(fun)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        compiled, leaves, _ = forms.prepare(args, kwargs)
        return compiled(*leaves)

    def lower(*args: Any, **kwargs: Any) -> Any:
        compiled, leaves, in_tree = forms.prepare(args, kwargs)
        return compiled.lower(*leaves).with_in_tree(in_tree)

    mapped.lower = lower  # type: ignore[attr-defined]
    return mapped


def _is_leaf(value: Any) -> bool:
    return value is None


def _check_axes(option: str, axes: Any) -> None:
    for axis in pytrees.tree_leaves(axes, is_leaf=_is_leaf):
        if axis is not None and type(axis) is not int:
            raise TypeError(
                f"pmap {option}_axes must be an int, None, or (nested) container with those types "
                f"as leaves, but got {axes!r}."
            )


def _numbers(argnums: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(argnums, int):
        return (argnums,)
    return tuple(operator.index(number) for number in argnums)


class _Mapping:
    """A function with the options of `pmap`."""

    def __init__(
        self,
        fun: Callable[..., Any],
        axis_name: Any,
        in_axes: Any,
        out_axes: Any,
        static_argnums: tuple[int, ...],
        devices: list[Any] | None,
        backend: str | None,
        axis_size: int | None,
        donate_argnums: tuple[int, ...],
    ) -> None:
        self.fun = fun
        self.axis_name = axis_name
        self.in_axes = in_axes
        self.out_axes = out_axes
        self.static_argnums = static_argnums
        self.devices = devices
        self.backend = backend
        self.axis_size = axis_size
        self.donate_argnums = donate_argnums

    def without_statics(self, args: tuple) -> tuple[tuple, tuple]:
        """Returns the dynamic arguments, and the static arguments with their positions."""
        count = len(args)
        for number in self.static_argnums:
            if not -count <= number < count:
                raise ValueError(
                    f"pmapped function has static_broadcasted_argnums={self.static_argnums} but "
                    f"was called with only {count} positional argument{'s' * (count != 1)}. All "
                    "static broadcasted arguments must be passed positionally."
                )
        positions = sorted({number % count for number in self.static_argnums})
        for position in positions:
            try:
                hash(args[position])
            except TypeError:
                raise ValueError(
                    "Non-hashable static arguments are not supported, as this can lead to "
                    f"unexpected cache-misses. Static argument (index {position}) of type "
                    f"{type(args[position])} for function {function_name(self.fun)} is "
                    "non-hashable."
                ) from None
        dynamic = tuple(arg for position, arg in enumerate(args) if position not in positions)
        statics = tuple((count, p, type(args[p]), args[p]) for p in positions)
        return dynamic, statics

    def mesh(self, size: int) -> Mesh:
        """Returns the mesh of ``size`` devices of each process, one for each mapped index."""
        devices = self.devices
        if devices is None:
            if _mesh._default_devices is None:
                raise RuntimeError(
                    "pmap found no devices: pass `devices=`, or install and import olympus_xla."
                )
            default: Any = _mesh._default_devices
            devices = default() if self.backend is None else default(self.backend)
        by_process: dict[int, list[Any]] = {}
        for device in devices:
            by_process.setdefault(device.process_index, []).append(device)
        fewest = min(map(len, by_process.values()))
        if size > fewest:
            where = "" if len(by_process) == 1 else " in each process"
            raise IndivisibleError(
                f"pmap of {function_name(self.fun)} maps over an axis of size {size}, but there "
                f"are only {fewest} devices{where} to map it to. Reshape the arguments to "
                "(devices, size // devices, ...) and use vmap inside, or jit with shardings."
            )
        chosen = np.empty((len(by_process), size), dtype=object)
        for index, process in enumerate(sorted(by_process)):
            chosen[index] = by_process[process][:size]
        return Mesh(chosen.ravel(), (self.axis_name,))


class _CompiledForms:
    """Compiled forms of a mapping.

    The mapping does not refer to its compiled forms, which avoids a reference cycle.
    """

    def __init__(self, mapping: _Mapping) -> None:
        self._mapping = mapping
        # The first key is the structure of the arguments, with the static arguments. The second is
        # the key that `_Call.key` returns.
        self._calls: dict[Any, tuple[_Call, dict[Any, Any]]] = {}

    def prepare(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, list[Any], Any]:
        """Returns the compiled function for a call, its flat operands, and their structure."""
        mapping = self._mapping
        statics: tuple = ()
        if mapping.static_argnums:
            args, statics = mapping.without_statics(args)
        leaves, in_tree = pytrees.tree_flatten((args, kwargs))
        known = self._calls.get((in_tree, statics))
        if known is None:
            known = (_Call(mapping, args, kwargs, in_tree, statics), {})
            self._calls[in_tree, statics] = known
        call, forms = known
        # Inside another program the specs of `shard_map` alone determine the shards.
        inside = current.trace is not evaluation_trace
        key = (*call.key(leaves), inside)
        compiled = forms.get(key)
        if compiled is None:
            compiled = forms[key] = call.compile(leaves, inside)
        return compiled, leaves, in_tree


class _Call:
    """Mapped function for arguments of one structure."""

    def __init__(
        self, mapping: _Mapping, args: tuple, kwargs: dict[str, Any], in_tree: Any, statics: tuple
    ) -> None:
        self.mapping = mapping
        self.in_tree = in_tree
        self.statics = statics
        static_positions = [position for _, position, _, _ in statics]
        count = len(args) + len(statics)
        # The positions of the dynamic arguments among all positional arguments.
        self.positions = [p for p in range(count) if p not in static_positions]
        in_axes = mapping.in_axes
        if isinstance(in_axes, tuple) and len(in_axes) == count:
            in_axes = tuple(in_axes[position] for position in self.positions)
        try:
            axes = spread_prefix(in_axes, args, _is_leaf)
        except ValueError as error:
            raise ValueError(
                "pmap in_axes must be a tree prefix of the tuple of positional arguments: "
                f"{error}\nFor a function of one argument, write in_axes=0 or in_axes=(0,)."
            ) from None
        self.axes = [*axes, *[0] * (in_tree.num_leaves - len(axes))]
        self.mapped = next(
            (position for position, axis in enumerate(self.axes) if axis is not None), None
        )
        if self.mapped is None:
            raise ValueError("pmap requires at least one argument with a mapped axis.")
        # The key contains the size of the mapped dimension, and the ranks if axes count from the
        # end.
        self.counts_from_end = any(axis is not None and axis < 0 for axis in self.axes)

    def key(self, leaves: Sequence[Any]) -> tuple[int, ...]:
        """Returns the key of a compiled form.

        The key is the size of the mapped dimension, followed by the ranks if axes count from the
        end.
        """
        assert self.mapped is not None
        try:
            size = leaves[self.mapped].shape[self.axes[self.mapped]]
        except (AttributeError, IndexError):
            size = self._common_size(leaves)
        return (size, *map(np.ndim, leaves)) if self.counts_from_end else (size,)

    # ---- the first call of a kind ----

    def _names(self) -> Sequence[str]:
        info = debug_info_of_tree("pmap", self.mapping.fun, self.in_tree, self.positions)
        return info.arg_names or [f"leaf {n}" for n in range(len(self.axes))]

    def _common_size(self, leaves: Sequence[Any]) -> int:
        """Returns the common size of the mapped dimensions; checks that all operands agree."""
        sizes: dict[str, int] = {}
        for name, leaf, axis in zip(self._names(), leaves, self.axes, strict=True):
            if axis is None:
                continue
            shape = get_aval(leaf).shape
            if not -len(shape) <= axis < len(shape):
                raise ValueError(
                    f"pmap of {function_name(self.mapping.fun)} maps over axis {axis} of argument "
                    f"{name}, which has the shape {tuple(shape)}. pmap requires at least one "
                    "argument with a mapped axis; those that all devices share have None in "
                    "in_axes."
                )
            sizes[name] = shape[axis]
        if len(set(sizes.values())) > 1:
            listed = ", ".join(f"{name}: {size}" for name, size in sizes.items())
            raise IndivisibleError(
                "pmap got inconsistent sizes for array axes to be mapped in the arguments of "
                f"{function_name(self.mapping.fun)}: {listed}. They must be the same."
            )
        size = next(iter(sizes.values()))
        if size == 0:
            raise ValueError("pmap needs at least one example, and the mapped axis has size 0.")
        return size

    def compile(self, leaves: Sequence[Any], inside: bool) -> Any:
        """Returns the compiled function of flat operands."""
        mapping = self.mapping
        axis_name = mapping.axis_name
        size, specified = self._common_size(leaves), mapping.axis_size
        if specified is not None and specified != size:
            raise ValueError(
                f"Specified axis_size {specified} doesn't match received axis_size {size}."
            )
        mesh = mapping.mesh(size)
        axes = [
            axis if axis is None or axis >= 0 else axis + np.ndim(leaf)
            for axis, leaf in zip(self.axes, leaves, strict=True)
        ]
        specs = tuple(_spec(axis, axis_name) for axis in axes)

        def run(*operands: Any) -> Any:
            self._common_size(operands)
            if config_states.current_scope("pmap"):
                raise ValueError(
                    "pmap inside pmap is not possible: the outer pmap uses the devices already. "
                    "Use vmap inside, or shard_map over a mesh of two axes."
                )
            out_axes = _OutAxes(mapping.out_axes)

            def local(*parts: Any) -> Any:
                examples = [
                    part if axis is None else lax.squeeze(part, (axis,))
                    for part, axis in zip(parts, axes, strict=True)
                ]
                with config_states.scope("pmap", True):
                    return out_axes.expand(self._call(examples))

            return apply_shard_map(
                local,
                operands,
                mesh,
                specs,
                lambda: out_axes.specs(axis_name),
                frozenset(),
                False,
            )

        run.__name__ = run.__qualname__ = "_fun"
        if inside:
            return jit(run)
        shardings = tuple(NamedSharding(mesh, spec) for spec in specs)
        compiled = jit(
            run, placement=self._placement(mesh, shardings), donate_argnums=self._donated()
        )
        return _across_processes(compiled, shardings) if mesh.is_multi_process else compiled

    def _placement(self, mesh: Mesh, shardings: tuple[NamedSharding, ...]) -> tuple:
        """Returns the options of `jit` that place the operands, and the results as far as known."""
        placement = [("in_shardings", shardings)]
        axes, tree = pytrees.tree_flatten(self.mapping.out_axes, is_leaf=_is_leaf)
        # Axes that count from the end depend on the ranks of the results.
        if all(axis is None or axis >= 0 for axis in axes):
            specs = [NamedSharding(mesh, _spec(axis, self.mapping.axis_name)) for axis in axes]
            placement.append(("out_shardings", pytrees.tree_unflatten(tree, specs)))
        return tuple(
            [
                (name, (tree, tuple(leaves)))
                for name, given in placement
                for leaves, tree in [pytrees.tree_flatten(given)]
            ]
        )

    def _call(self, examples: Sequence[Any]) -> Any:
        """Calls the user's function on one slice of the mapped dimension."""
        dynamic, kwargs = pytrees.tree_unflatten(self.in_tree, examples)
        args: list[Any] = [None] * (len(dynamic) + len(self.statics))
        for _, position, _, value in self.statics:
            args[position] = value
        for position, value in zip(self.positions, dynamic, strict=True):
            args[position] = value
        return self.mapping.fun(*args, **kwargs)

    def _donated(self) -> tuple[int, ...]:
        """Returns the positions of the donated leaves."""
        args_tree, _ = self.in_tree.children()
        count = len(self.positions) + len(self.statics)
        donated = {number % count for number in self.mapping.donate_argnums if count}
        flags: list[bool] = []
        for position, child in zip(self.positions, args_tree.children(), strict=True):
            flags += [position in donated] * child.num_leaves
        return tuple(number for number, flag in enumerate(flags) if flag)


def _across_processes(
    compiled: Callable[..., Any], shardings: Sequence[NamedSharding]
) -> Callable[..., Any]:
    """Wraps a function of global arrays; the wrapper takes and returns this process's data."""
    conversions = _mesh._process_conversions
    assert conversions is not None, "the runtime that has devices of other processes sets them"
    join, part = conversions

    def run_on_all(*operands: Any) -> Any:
        results = compiled(*map(join, operands, shardings))
        return pytrees.tree_map(lambda array: part(array, array.sharding), results)

    return run_on_all


def _spec(axis: int | None, axis_name: Any) -> PartitionSpec:
    return PartitionSpec() if axis is None else PartitionSpec(*(None,) * axis, axis_name)


class _OutAxes:
    """Mapped dimension of each result, known once the function has been traced."""

    def __init__(self, out_axes: Any) -> None:
        self.given = out_axes
        self.axes: list[int | None] = []

    def expand(self, results: Any) -> Any:
        """Returns the results for one slice, with a mapped dimension of size one."""
        leaves, tree = pytrees.tree_flatten(results)
        try:
            axes = spread_prefix(self.given, results, _is_leaf)
        except ValueError as error:
            raise ValueError(
                f"pmap out_axes must be a tree prefix of the structure of the results: {error}"
            ) from None
        expanded = []
        for leaf, axis in zip(leaves, axes, strict=True):
            rank = get_aval(leaf).ndim + 1
            if axis is not None:
                if not -rank <= axis < rank:
                    raise ValueError(
                        f"pmap out_axes has {axis}, which is out of bounds for a result of "
                        f"dimension {rank}"
                    )
                axis %= rank
                leaf = lax.expand_dims(leaf, (axis,))
            self.axes.append(axis)
            expanded.append(leaf)
        return pytrees.tree_unflatten(tree, expanded)

    def specs(self, axis_name: Any) -> list[PartitionSpec]:
        """Returns the partition spec of each leaf of the results."""
        return [_spec(axis, axis_name) for axis in self.axes]
