# SPDX-License-Identifier: Apache-2.0
"""Meshes of tests. A test that needs more devices than there are is skipped."""

from __future__ import annotations

import math
import unittest
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import olympus
from olympus.sharding import AxisType, Mesh

__all__ = ["MeshSpec", "create_mesh", "with_explicit_mesh", "with_mesh", "with_mesh_from_kwargs"]

MeshSpec = list[tuple[str, int]]


def _first(devices: Sequence[Any], shape: Sequence[int]) -> np.ndarray:
    count = math.prod(shape)
    if len(devices) < count:
        raise unittest.SkipTest(f"Test requires {count} global devices and found {len(devices)}.")
    return np.array(devices[:count]).reshape(shape)


def create_mesh(
    mesh_shape: Sequence[int],
    axis_names: Sequence[str] | str,
    iota_order: bool = False,
    axis_types: Any = None,
) -> Mesh:
    """Returns a mesh.

    Args:
      mesh_shape: the sizes of the axes.
      axis_names: the names of the axes.
      iota_order: whether the devices are in the order of their numbers.
      axis_types: the types of the axes, automatic by default.
    """
    devices = _first(sorted(olympus.devices(), key=lambda device: device.id), mesh_shape)
    if iota_order:
        return Mesh(devices, axis_names, axis_types=axis_types)
    types = (AxisType.Auto,) * len(mesh_shape) if axis_types is None else axis_types
    return olympus.make_mesh(tuple(mesh_shape), axis_names, types)


@contextmanager
def with_mesh(named_shape: MeshSpec) -> Iterator[None]:
    """Enters a mesh of the first local devices.

    Args:
      named_shape: pairs of the name and the size of each axis.
    """
    names = tuple(name for name, _ in named_shape)
    devices = _first(olympus.local_devices(), [size for _, size in named_shape])
    mesh: Any = Mesh(devices, names)  # olympus_sharding adds the methods of the context
    with mesh:
        yield


def with_mesh_from_kwargs(f: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that runs in the mesh of its argument ``mesh``; see `with_mesh`."""
    return lambda *args, **kwargs: with_mesh(kwargs["mesh"])(f)(*args, **kwargs)


def with_explicit_mesh(
    sizes: Sequence[int], names: Sequence[str], axis_types: Any = None, iota_order: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator of tests that run in a mesh, and get it as their argument ``mesh``.

    Args:
      sizes: the sizes of the axes.
      names: the names of the axes.
      axis_types: the types of the axes, explicit by default.
      iota_order: whether the devices are in the order of their numbers.
    """
    types = (AxisType.Explicit,) * len(names) if axis_types is None else axis_types

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        # The signature of the method is not kept: pytest would look for a fixture `mesh`.
        def run(*args: Any, **kwargs: Any) -> Any:
            mesh = create_mesh(sizes, names, iota_order, axis_types=types)
            with olympus.set_mesh(mesh):
                return method(*args, **kwargs, mesh=mesh)

        run.__name__ = method.__name__
        return run

    return decorate
