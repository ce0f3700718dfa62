# SPDX-License-Identifier: Apache-2.0
"""Transforms of references to GPU memory: tilings, swizzles, and views of remote buffers."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from olympus_ir.diagnostics.documents import Document, Text
from olympus_ir.references.primitives import ref_and_transforms
from olympus_ir.references.values import TransformedRef
from olympus_ir.trees.pytree_registry import register_pytree_node_class
from olympus_ir.types.avals import ShapedArray

from ..machine.communication import place_of, remote
from ..machine.evaluation import Core
from ..machine.runs import Site
from ..machine.views import define_view
from ..memory.annotations import DeviceId, RefLike
from ..operations.transfers import DeviceIdType

__all__ = [
    "PeerMemRef",
    "SwizzleTransform",
    "TilingTransform",
    "Transform",
    "cluster_ref",
    "multicast_ref",
    "remote_ref",
    "transform_ref",
    "transpose_ref",
]


@runtime_checkable
class Transform(Protocol):
    """Protocol of transforms between the memory of a reference and a view of it."""

    def transform_type(self, x: ShapedArray) -> ShapedArray:
        """Returns the type of the view of an array."""
        ...

    def undo(self, x: ShapedArray) -> Any:
        """Returns the inverse transform."""
        ...

    def pretty_print(self, context: Any) -> Document:
        """Returns the text that stands for the transform in a printed equation."""
        ...


class _SettledTransform:
    """Base class of transforms whose settings are hashable, as pytrees without leaves."""

    def transform_type(self, x: ShapedArray) -> ShapedArray:
        """Returns the type of the view of an array."""
        raise TypeError(f"{type(self).__name__} must define `transform_type`")

    def undo(self, x: ShapedArray) -> Any:
        """Returns the inverse transform."""
        raise TypeError(f"{type(self).__name__} cannot be undone")

    def pretty(self, shown: Any) -> str:
        """Returns the text that stands for the transform in a printed equation."""
        return f"{{{type(self).__name__}}}"

    def pretty_print(self, context: Any) -> Document:
        """Returns the text of `pretty` as a document."""
        return Text(self.pretty(str))

    # ---- as a pytree without leaves ----

    def _settings(self) -> tuple:
        return ()

    def tree_flatten(self) -> tuple[Sequence[Any], tuple]:
        return (), self._settings()

    @classmethod
    def tree_unflatten(cls, settings: tuple, leaves: Sequence[Any]) -> Any:
        return cls(*settings)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._settings() == other._settings()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self._settings()))


@register_pytree_node_class
class TilingTransform(_SettledTransform):
    """Transform that lays an array out in tiles.

    Args:
      tiling: the shape of a tile.

    Example:
      >>> TilingTransform((64, 32)).transform_type(ShapedArray((256, 256), "float32"))
      ShapedArray(float32[4,8,64,32])
    """

    def __init__(self, tiling: tuple[int, ...]) -> None:
        self.tiling = tuple(tiling)

    def _settings(self) -> tuple:
        return (self.tiling,)

    def __repr__(self) -> str:
        return f"TilingTransform(tiling={self.tiling})"

    def transform_type(self, x: ShapedArray) -> ShapedArray:
        """Returns the type of an array in tiles.

        Raises:
          ValueError: the tiles do not fill the array.
        """
        rank = len(self.tiling)
        dims = x.shape[len(x.shape) - rank :]
        if len(dims) < rank or any(d % t for d, t in zip(dims, self.tiling, strict=True)):
            raise ValueError(f"tiles of {self.tiling} do not fill an array of shape {x.shape}")
        counts = tuple(d // t for d, t in zip(dims, self.tiling, strict=True))
        return x.update(shape=(*x.shape[: len(x.shape) - rank], *counts, *self.tiling))

    def undo(self, x: ShapedArray) -> TilingTransform:
        """Returns the inverse transform."""
        return UntilingTransform(self.tiling)

    def pretty(self, shown: Any) -> str:
        return f"{{tile({list(self.tiling)})}}"


@register_pytree_node_class
class UntilingTransform(TilingTransform):
    """Transform that views an array in tiles as an array without tiles."""

    def __repr__(self) -> str:
        return f"UntilingTransform(tiling={self.tiling})"

    def transform_type(self, x: ShapedArray) -> ShapedArray:
        rank = len(self.tiling)
        if len(x.shape) < 2 * rank or x.shape[-rank:] != self.tiling:
            raise ValueError(f"an array of shape {x.shape} is not in tiles of {self.tiling}")
        counts = x.shape[-2 * rank : -rank]
        dims = tuple(c * t for c, t in zip(counts, self.tiling, strict=True))
        return x.update(shape=(*x.shape[: -2 * rank], *dims))

    def undo(self, x: ShapedArray) -> TilingTransform:
        return TilingTransform(self.tiling)

    def pretty(self, shown: Any) -> str:
        return f"{{untile({list(self.tiling)})}}"


@register_pytree_node_class
class SwizzleTransform(_SettledTransform):
    """Permutation of the elements of rows, so that reads of a column use different memory banks.

    Args:
      swizzle: the number of bytes within which elements are permuted: 32, 64 or 128.

    Raises:
      ValueError: ``swizzle`` is none of these numbers.

    Example:
      >>> SwizzleTransform(128).swizzle
      128
    """

    def __init__(self, swizzle: int) -> None:
        if swizzle not in (32, 64, 128):
            raise ValueError(
                f"Swizzle {swizzle} is not supported. Only 32, 64 and 128 are accepted."
            )
        self.swizzle = swizzle

    def _settings(self) -> tuple:
        return (self.swizzle,)

    def __repr__(self) -> str:
        return f"SwizzleTransform(swizzle={self.swizzle})"

    def transform_type(self, x: ShapedArray) -> ShapedArray:
        """Returns the array's type, since a permutation of elements does not change it."""
        return x

    def undo(self, x: ShapedArray) -> SwizzleTransform:
        """Returns the inverse, which is the same permutation."""
        return self

    def pretty(self, shown: Any) -> str:
        return f"{{swizzle({self.swizzle})}}"


def _tiled(transform: TilingTransform, array: np.ndarray) -> np.ndarray:
    rank = len(transform.tiling)
    lead = array.shape[: array.ndim - rank]
    pieces = []
    for size, tile in zip(array.shape[array.ndim - rank :], transform.tiling, strict=True):
        pieces += [size // tile, tile]
    split = array.reshape(*lead, *pieces)
    first = len(lead)
    order = [*range(first), *range(first, first + 2 * rank, 2), *range(first + 1, split.ndim, 2)]
    return split.transpose(order)


def _untiled(transform: UntilingTransform, array: np.ndarray) -> np.ndarray:
    rank = len(transform.tiling)
    first = array.ndim - 2 * rank
    order = [*range(first)]
    for dim in range(rank):
        order += [first + dim, first + rank + dim]
    shape = transform.transform_type(ShapedArray(array.shape, np.float32)).shape
    return array.transpose(order).reshape(shape)


define_view(TilingTransform, _tiled)
define_view(UntilingTransform, _untiled)
define_view(SwizzleTransform, lambda transform, array: array)


# ---- buffers of other blocks and devices ----


class _Elsewhere(_SettledTransform):
    """Base class of views of the same buffer in another block or on another device."""

    def transform_type(self, x: ShapedArray) -> ShapedArray:
        """Returns the type of the buffer, which is the same everywhere."""
        return x

    def locate(self, core: Core, site: Site) -> Site:
        """Returns the part of the buffer that the view refers to."""
        raise TypeError(f"{type(self).__name__} must define `locate`")


@register_pytree_node_class
class PeerMemRef(_Elsewhere):
    """A view of another device's buffer.

    Args:
      device_id: the device.
      device_id_type: the kind of ``device_id``.
    """

    is_remote = True

    def __init__(self, device_id: Any, device_id_type: DeviceIdType) -> None:
        self.device_id = device_id
        self.device_id_type = device_id_type

    def tree_flatten(self) -> tuple[Sequence[Any], tuple]:
        return (self.device_id,), (self.device_id_type,)

    @classmethod
    def tree_unflatten(cls, settings: tuple, leaves: Sequence[Any]) -> PeerMemRef:
        return cls(leaves[0], *settings)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def undo(self, x: ShapedArray) -> PeerMemRef:
        """Raises an error: the inverse depends on the device."""
        raise ValueError("a view of another device's buffer cannot be undone")

    def commute_ndindexer(self, _: Any, indexer: Any) -> tuple[Any, PeerMemRef]:
        """Moves an index before the view; the result is the same part of the buffer."""
        return indexer, self

    def pretty(self, shown: Any) -> str:
        return "{peer}"

    def locate(self, core: Core, site: Site) -> Site:
        device, _ = place_of(core, self.device_id, self.device_id_type)
        return remote(core, site, device)


@register_pytree_node_class
class ClusterRef(_Elsewhere):
    """A view of the buffer of another block of the cluster."""

    def __init__(self, names: tuple[Any, ...], indices: Sequence[Any]) -> None:
        self.names = names
        self.indices = tuple(indices)

    def tree_flatten(self) -> tuple[Sequence[Any], tuple]:
        return self.indices, (self.names,)

    @classmethod
    def tree_unflatten(cls, settings: tuple, leaves: Sequence[Any]) -> ClusterRef:
        return cls(settings[0], leaves)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def locate(self, core: Core, site: Site) -> Site:
        places = dict(zip(self.names, map(int, self.indices), strict=True))
        return core.mesh.in_block(core, site, places)


@register_pytree_node_class
class MulticastRef(_Elsewhere):
    """A view of the buffers of all devices along axes of the mesh, as destination of a copy."""

    is_remote = True

    def __init__(self, axes: tuple[Any, ...]) -> None:
        self.axes = axes

    def _settings(self) -> tuple:
        return (self.axes,)

    def pretty(self, shown: Any) -> str:
        return f"{{multicast({', '.join(map(str, self.axes))})}}"

    def locate(self, core: Core, site: Site) -> Site:
        return Everywhere(site.buffer, site.transforms, self.axes)


@dataclasses.dataclass(frozen=True)
class Everywhere(Site):
    """A part of a buffer on all devices along axes of the mesh."""

    axes: tuple[Any, ...] = ()


def multicast_ref(ref: RefLike, collective_axes: Hashable | tuple[Hashable, ...]) -> TransformedRef:
    """Returns a view of a reference on all devices along axes of the mesh.

    The view is a destination of copies to global memory.

    Args:
      ref: a reference in GMEM, or a view of one.
      collective_axes: the axes of the mesh.

    Returns:
      The view, a reference.
    """
    axes = collective_axes if isinstance(collective_axes, tuple) else (collective_axes,)
    return _view(ref, MulticastRef(axes))


def remote_ref(
    ref: RefLike, device_id: DeviceId, device_id_type: DeviceIdType = DeviceIdType.MESH
) -> TransformedRef:
    """Returns a view of the buffer that corresponds to ``ref`` on another device.

    Args:
      ref: a reference in GMEM, or a view of one.
      device_id: the device.
      device_id_type: the kind of ``device_id``.

    Returns:
      The view, a reference.
    """
    return _view(ref, PeerMemRef(device_id, device_id_type))


def cluster_ref(ref: RefLike, block_id: dict[Any, Any]) -> TransformedRef:
    """Returns a view of the buffer that corresponds to ``ref`` in another block of the cluster.

    Args:
      ref: a reference in a block's memory, or a view of one.
      block_id: the index of the block along axes of the cluster; along the other axes it is the
        index of this block.

    Returns:
      The view, a reference.
    """
    return _view(ref, ClusterRef(tuple(block_id), tuple(block_id.values())))


def _view(ref: Any, transform: Any) -> TransformedRef:
    base, transforms = ref_and_transforms("a view of a reference", ref)
    return TransformedRef(base, (*transforms, transform))


def transform_ref(ref: RefLike, transform: Transform) -> TransformedRef:
    """Returns a view of a reference through a transform, such as `TilingTransform`.

    Args:
      ref: the reference.
      transform: the transform.

    Returns:
      The view, a reference.

    Raises:
      ValueError: the transform does not fit the reference.
    """
    view = _view(ref, transform)
    view._array_aval()
    return view


def transpose_ref(ref: RefLike, permutation: tuple[int, ...]) -> TransformedRef:
    """Returns a view of a reference with its dimensions in another order.

    Args:
      ref: the reference.
      permutation: for each dimension of the view, the index of the reference's dimension.

    Returns:
      The view, a reference.
    """
    return ref.transpose(tuple(permutation))
