# SPDX-License-Identifier: Apache-2.0
"""Python functions that run on the hosts of their arguments.

The devices of this process are on its host, so a function runs directly in this process. Results
are put on the devices of the arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.programs.tracing import Tracer
from olympus_ir.trees import pytrees
from olympus_sharding.meshes.mesh import Mesh

from ..arrays.transfer import device_put
from ..platforms import backends

__all__ = ["colocated_cpu_devices", "colocated_python", "colocated_python_class"]


def colocated_cpu_devices(devices_or_mesh: Any) -> Any:
    """Returns the CPU devices on the hosts of given devices, or a mesh of these CPU devices.

    Args:
      devices_or_mesh: a sequence of devices, or a mesh.

    Returns:
      A CPU device for each device, in the same order; a mesh for a mesh. CPU devices are returned
      unchanged.

    Raises:
      ValueError: a device belongs to another process.

    Example:
      >>> import olympus
      >>> colocated_cpu_devices(olympus.devices("cpu")[:1]) == olympus.devices("cpu")[:1]
      True
    """
    if isinstance(devices_or_mesh, Mesh):
        mesh = devices_or_mesh
        flat = colocated_cpu_devices(list(mesh.devices.flat))
        devices = np.array(flat, dtype=object).reshape(mesh.devices.shape)
        return Mesh(devices, mesh.axis_names, axis_types=mesh.axis_types)
    return [_colocated(device) for device in devices_or_mesh]


def _colocated(device: Any) -> Any:
    if device.platform == "cpu":
        return device
    if device.process_index != backends.process_index():
        raise ValueError(
            f"the host of {device} is that of process {device.process_index}; only the CPU devices "
            "of this process's host are known"
        )
    cpus = backends.local_devices(backend="cpu")
    return cpus[device.local_hardware_id % len(cpus)]


def colocated_python(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function run on the hosts of the devices of its arguments.

    The function takes and returns arrays. The decorated function has a method
    ``specialize(in_specs=None, out_specs_fn=None, devices=None)``, which fixes the types of
    arguments and results. If the function has no arguments, it runs on the hosts of ``devices``.

    Args:
      fun: the function.

    Returns:
      The function with the method ``specialize``.

    Example:
      >>> import olympus
      >>> @colocated_python
      ... def add_one(x):
      ...     return x + 1
      >>> add_one(olympus.numpy.arange(2))
      Array([1, 2], dtype=int32)
    """
    return _specialized(fun, {})


def _specialized(fun: Callable[..., Any], known: dict[str, Any]) -> Callable[..., Any]:
    @api_boundary
    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _run(fun, known, args, kwargs)

    def specialize(
        in_specs: Any = None,
        out_specs_fn: Callable[..., Any] | None = None,
        devices: Sequence[Any] | None = None,
    ) -> Callable[..., Any]:
        options = {"in_specs": in_specs, "out_specs_fn": out_specs_fn, "devices": devices}
        more = {name: value for name, value in options.items() if value is not None}
        for name in more:
            if name in known:
                raise ValueError(f"{name} already specified")
        return _specialized(fun, {**known, **more})

    call.specialize = specialize  # type: ignore[attr-defined]
    return call


def _run(fun: Callable[..., Any], known: dict[str, Any], args: tuple, kwargs: dict) -> Any:
    leaves = pytrees.tree_leaves((args, kwargs))
    for leaf in leaves:
        if isinstance(leaf, Tracer):
            raise TypeError(
                f"the colocated function {fun.__name__} was called in a traced function, with a "
                f"value of type {leaf.aval.str_short()}. Call it outside, or use io_callback."
            )
        if not hasattr(leaf, "sharding"):
            raise TypeError(
                f"colocated functions take arrays on devices; {fun.__name__} was called with "
                f"{leaf!r} of type {type(leaf).__name__}"
            )
    if not leaves and "devices" not in known:
        raise ValueError(
            "No devices found. colocated_python function without input arguments must be first "
            "specialized with devices."
        )
    if "in_specs" in known:
        _check_specs("arguments", known["in_specs"], (args, kwargs))
    results = fun(*args, **kwargs)
    if "out_specs_fn" in known:
        specs = known["out_specs_fn"](*args, **kwargs)
        _check_specs("results", specs, results)
        return pytrees.tree_map(
            lambda result, spec: device_put(result, getattr(spec, "sharding", None)), results, specs
        )
    if "devices" in known:
        place: Any = next(iter(known["devices"]))
    else:
        place = leaves[0].sharding
    return pytrees.tree_map(lambda result: _placed(result, place), results)


def _placed(result: Any, place: Any) -> Any:
    return result if hasattr(result, "sharding") else device_put(result, place)


def _check_specs(name: str, specs: Any, values: Any) -> None:
    spec_leaves, spec_tree = pytrees.tree_flatten(specs)
    leaves, tree = pytrees.tree_flatten(values)
    if tree != spec_tree:
        raise ValueError(f"{name} of a colocated function are {tree}, specified as {spec_tree}")
    for leaf, spec in zip(leaves, spec_leaves, strict=True):
        if (np.shape(leaf), leaf.dtype) != (tuple(spec.shape), spec.dtype):
            raise ValueError(
                f"{name} of a colocated function have shape {np.shape(leaf)} and dtype "
                f"{leaf.dtype}, specified as {spec}"
            )


def colocated_python_class(cls: type) -> Any:
    """Makes a class whose methods run on the hosts of the devices of their arguments.

    The first call of a method creates the object on these hosts. The created object lives as long
    as the local object.

    Args:
      cls: the class.

    Returns:
      A class with the constructor and the methods of ``cls``.

    Example:
      >>> import olympus
      >>> @colocated_python_class
      ... class Counter:
      ...     def __init__(self, start): self.count = start
      ...     def add(self, x): self.count += 1; return x + self.count
      >>> counter = Counter(3)
      >>> counter.add(olympus.numpy.arange(2))
      Array([4, 5], dtype=int32)
    """

    @api_boundary
    @functools.wraps(cls, updated=())
    class Colocated:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self._arguments = (args, kwargs)
            self._object: Any = None

        def __getattr__(self, name: str) -> Any:
            method = None if name.startswith("_") else getattr(cls, name, None)
            if not callable(method):
                raise AttributeError(f"{cls.__name__} has no public method {name!r}")

            @functools.wraps(method)
            def on_object(*args: Any, **kwargs: Any) -> Any:
                if self._object is None:
                    positional, keywords = self._arguments
                    self._object = cls(*positional, **keywords)
                return method(self._object, *args, **kwargs)

            bound = colocated_python(on_object)
            self.__dict__[name] = bound
            return bound

    return Colocated
