# SPDX-License-Identifier: Apache-2.0
"""Masks of attention, which are cut into blocks without being materialized.

Indexing a mask by a slice of queries and a slice of keys returns an array of booleans.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = [
    "CausalMask",
    "ChunkedCausalMask",
    "FullMask",
    "LocalMask",
    "LogicalAnd",
    "LogicalOr",
    "Mask",
    "MultiHeadMask",
    "NumpyMask",
    "make_causal_mask",
    "make_chunk_attention_mask",
    "make_local_attention_mask",
    "make_random_mask",
]

Window = tuple[int | None, int | None]


def _allowed(
    shape: tuple[int, int], rule: Callable[[np.ndarray, np.ndarray], np.ndarray], index: Any
) -> np.ndarray:
    if not (isinstance(index, tuple) and len(index) == 2):
        raise NotImplementedError(f"masks must be indexed by two slices, got {index!r}")
    queries, keys = (np.arange(size)[part] for size, part in zip(shape, index, strict=True))
    return np.broadcast_to(rule(queries[:, None], keys[None, :]), (queries.size, keys.size))


def _causal(queries: Any, keys: Any, offset: int = 0) -> Any:
    return queries + offset >= keys


def _local(queries: Any, keys: Any, window_size: Window, offset: int) -> Any:
    left, right = window_size
    allowed = np.ones(np.broadcast_shapes(queries.shape, keys.shape), bool)
    if left is not None:
        allowed &= keys >= queries + offset - left
    if right is not None:
        allowed &= keys <= queries + offset + right
    return allowed


def _chunked(queries: Any, keys: Any, chunk_size: int) -> Any:
    return (queries // chunk_size == keys // chunk_size) & (queries >= keys)


_ALL = (slice(None), slice(None))


def make_causal_mask(shape: tuple[int, int], offset: int = 0) -> np.ndarray:
    """Returns a mask that lets queries attend to the keys up to their own position.

    Args:
      shape: the numbers of queries and of keys.
      offset: the position of the first query among the keys.

    Returns:
      A boolean array of the given shape.

    Example:
      >>> make_causal_mask((2, 3)).astype(int).tolist()
      [[1, 0, 0], [1, 1, 0]]
    """
    return _allowed(shape, lambda q, k: _causal(q, k, offset), _ALL)


def make_local_attention_mask(
    shape: tuple[int, int], window_size: Window, *, offset: int = 0
) -> np.ndarray:
    """Returns a mask that lets queries attend to the keys in a window around their position.

    Args:
      shape: the numbers of queries and of keys.
      window_size: the numbers of keys before and after the query's position; None for all.
      offset: the position of the first query among the keys.

    Returns:
      A boolean array of the given shape.

    Example:
      >>> make_local_attention_mask((2, 4), (0, 1)).astype(int).tolist()
      [[1, 1, 0, 0], [0, 1, 1, 0]]
    """
    return _allowed(shape, lambda q, k: _local(q, k, window_size, offset), _ALL)


def make_chunk_attention_mask(shape: tuple[int, int], chunk_size: int) -> np.ndarray:
    """Returns a mask that lets queries attend to the keys of their chunk up to their own position.

    Args:
      shape: the numbers of queries and of keys.
      chunk_size: the number of positions in a chunk.

    Returns:
      A boolean array of the given shape.

    Raises:
      ValueError: ``chunk_size`` is not positive.

    Example:
      >>> make_chunk_attention_mask((3, 3), 2).astype(int).tolist()
      [[1, 0, 0], [1, 1, 0], [0, 0, 1]]
    """
    _check_chunk(chunk_size)
    return _allowed(shape, lambda q, k: _chunked(q, k, chunk_size), _ALL)


def make_random_mask(shape: tuple[int, int], sparsity: float, seed: int) -> np.ndarray:
    """Returns a random mask.

    Args:
      shape: the numbers of queries and of keys.
      sparsity: the approximate share of keys that a query does not attend to.
      seed: the seed of the generator.

    Returns:
      A boolean array of the given shape.

    Example:
      >>> make_random_mask((2, 4), 1.0, seed=0).any().tolist()
      False
    """
    return np.random.default_rng(seed).random(shape) >= sparsity


def _check_chunk(chunk_size: int) -> None:
    if chunk_size <= 0:
        raise ValueError(f"chunk_size must be positive, got {chunk_size}")


class Mask:
    """Base class of masks. Masks are compared by content, so that equal masks share blocks."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of queries and of keys."""
        raise NotImplementedError(f"{type(self).__name__} must define `shape`")

    def __getitem__(self, idx: Any) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} cannot be indexed")

    def __bool__(self) -> bool:
        raise NotImplementedError("a mask is neither true nor false; combine masks with & and |")

    def __or__(self, other: Mask) -> Mask:
        return LogicalOr(self, other)

    def __and__(self, other: Mask) -> Mask:
        return LogicalAnd(self, other)

    def _content(self) -> Any:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._content() == other._content()  # pyright: ignore[reportAttributeAccessIssue]

    def __hash__(self) -> int:
        return hash((type(self), self._content()))


class _Combined(Mask):
    def __init__(self, left: Mask, right: Mask) -> None:
        if left.shape != right.shape:
            raise ValueError(
                f"masks that are combined need equal shapes, got {left.shape} and {right.shape}"
            )
        self.left = left
        self.right = right

    @property
    def shape(self) -> tuple[int, ...]:
        return self.left.shape

    def _content(self) -> Any:
        return self.left, self.right


class LogicalOr(_Combined):
    """Union of two masks: queries attend to the keys that either mask admits.

    Example:
      >>> LogicalOr(CausalMask((2, 2)), FullMask((2, 2)))[:1, :].tolist()
      [[True, True]]
    """

    def __getitem__(self, idx: Any) -> np.ndarray:
        return self.left[idx] | self.right[idx]


class LogicalAnd(_Combined):
    """Intersection of two masks: queries attend to the keys that both masks admit.

    Example:
      >>> LogicalAnd(CausalMask((2, 2)), FullMask((2, 2)))[:1, :].tolist()
      [[True, False]]
    """

    def __getitem__(self, idx: Any) -> np.ndarray:
        return self.left[idx] & self.right[idx]


class _RuledMask(Mask, abc.ABC):
    """A mask that a rule computes from positions."""

    def __init__(self, shape: tuple[int, int], shard_count: int) -> None:
        if len(shape) != 2:
            raise ValueError(
                f"a mask must have two dimensions, queries and keys, got the shape {shape}"
            )
        if shape[0] % shard_count:
            raise ValueError(f"{shape[0]} queries cannot be split over {shard_count} shards")
        self._shape = (int(shape[0]), int(shape[1]))

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @abc.abstractmethod
    def _rule(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Returns the mask for positions, which have shapes [queries, 1] and [1, keys]."""

    def __getitem__(self, idx: Any) -> np.ndarray:
        return _allowed(self._shape, self._rule, idx)


class CausalMask(_RuledMask):
    """Mask that lets queries attend to the keys up to their own position.

    Args:
      shape: the numbers of queries and of keys.
      offset: the position of the first query among the keys.
      shard_count: the number of devices over which the queries are split.

    Example:
      >>> CausalMask((4, 4))[:2, :2].tolist()
      [[True, False], [True, True]]
    """

    def __init__(self, shape: tuple[int, int], offset: int = 0, shard_count: int = 1) -> None:
        super().__init__(shape, shard_count)
        self.offset = offset

    def _rule(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return _causal(queries, keys, self.offset)

    def _content(self) -> Any:
        return self._shape, self.offset


class ChunkedCausalMask(_RuledMask):
    """Mask that lets queries attend to the keys of their chunk up to their own position.

    Args:
      shape: the numbers of queries and of keys.
      chunk_size: the number of positions in a chunk.
      shard_count: the number of devices over which the queries are split.

    Raises:
      ValueError: ``chunk_size`` is not positive.

    Example:
      >>> ChunkedCausalMask((4, 4), 2)[2:3, :].tolist()
      [[False, False, True, False]]
    """

    def __init__(self, shape: tuple[int, int], chunk_size: int, shard_count: int = 1) -> None:
        super().__init__(shape, shard_count)
        _check_chunk(chunk_size)
        self.chunk_size = chunk_size

    def _rule(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return _chunked(queries, keys, self.chunk_size)

    def _content(self) -> Any:
        return self._shape, self.chunk_size


class LocalMask(_RuledMask):
    """Mask that lets queries attend to the keys in a window around their own position.

    Args:
      shape: the numbers of queries and of keys.
      window_size: the numbers of keys before and after the query's position; None for all.
      offset: the position of the first query among the keys.
      shard_count: the number of devices over which the queries are split.

    Example:
      >>> LocalMask((4, 4), (1, 0), 0)[2:3, :].tolist()
      [[False, True, True, False]]
    """

    def __init__(
        self, shape: tuple[int, int], window_size: Window, offset: int, shard_count: int = 1
    ) -> None:
        super().__init__(shape, shard_count)
        self.window_size = window_size
        self.offset = offset

    def _rule(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return _local(queries, keys, self.window_size, self.offset)

    def _content(self) -> Any:
        return self._shape, self.window_size, self.offset


class FullMask(_RuledMask):
    """Mask that lets queries attend to all keys.

    Args:
      _shape: the numbers of queries and of keys.

    Example:
      >>> FullMask((2, 2))[:, :].all().tolist()
      True
    """

    def __init__(self, _shape: tuple[int, int]) -> None:
        if not isinstance(_shape, tuple):
            raise ValueError(f"the shape of a mask must be a tuple, got {_shape!r}")
        super().__init__(_shape, 1)

    def _rule(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return np.ones((1, 1), bool)

    def _content(self) -> Any:
        return self._shape


class NumpyMask(Mask):
    """A mask that is an array of booleans.

    Args:
      array: the booleans, of shape [queries, keys].

    Raises:
      ValueError: ``array`` is not a two-dimensional array of booleans.

    Example:
      >>> NumpyMask(np.eye(2, dtype=bool))[:1, :].tolist()
      [[True, False]]
    """

    def __init__(self, array: Any) -> None:
        if array.ndim != 2:
            raise ValueError(
                f"a mask must have two dimensions, queries and keys, got the shape {array.shape}"
            )
        if array.dtype != np.bool_:
            raise ValueError(f"a mask must be an array of booleans, got one of {array.dtype}")
        self.array = array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def __getitem__(self, idx: Any) -> np.ndarray:
        return np.asarray(self.array)[idx]

    def _content(self) -> Any:
        array = np.asarray(self.array)
        return array.shape, array.tobytes()


class MultiHeadMask(Mask):
    """A mask of several heads, made of one mask for each head.

    Args:
      masks: the masks, of equal shapes.

    Raises:
      ValueError: there are no masks, their shapes differ, or a mask has several heads itself.

    Example:
      >>> MultiHeadMask([CausalMask((4, 4)), FullMask((4, 4))]).shape
      (2, 4, 4)
    """

    def __init__(self, masks: Sequence[Mask]) -> None:
        if not masks:
            raise ValueError("a mask of several heads needs a mask for each, got none")
        if any(mask.shape != masks[0].shape for mask in masks):
            raise ValueError(
                f"the masks of all heads must have one shape, got {[m.shape for m in masks]}"
            )
        if any(isinstance(mask, MultiHeadMask) for mask in masks):
            raise ValueError("expected a mask of one head, got a mask of several heads")
        self.masks = masks

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.masks), *self.masks[0].shape)

    def __getitem__(self, idx: Any) -> np.ndarray:
        if not (isinstance(idx, tuple) and len(idx) == 3):
            raise NotImplementedError(f"masks of several heads take three indices, got {idx!r}")
        heads, *within = idx
        if isinstance(heads, slice):
            return np.stack([mask[tuple(within)] for mask in self.masks[heads]])
        return self.masks[heads][tuple(within)]

    def _content(self) -> Any:
        return tuple(self.masks)
