# SPDX-License-Identifier: Apache-2.0
"""Ragged batches: rows of different lengths, one after the other in one array."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.programs.tracing import Tracer
from olympus_ir.trees import pytrees
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.numerics import segments

from .attention import dot_product_attention

__all__ = ["Ragged", "ragged", "ragged_attention"]


class Ragged:
    """A batch of rows of different lengths, without padding between them.

    The batch is a pytree, so `jit`, `grad` and `vmap` take and return it. Programs are compiled for
    the total number of elements and the number of rows, not for the lengths.

    Args:
      values: the elements of all rows, of shape (total, ...). Elements after the last row belong to
        no row.
      lengths: the lengths of the rows, integers of shape (rows,). Their sum is at most the total.

    Example:
      >>> batch = Ragged(onp.array([1.0, 2.0, 3.0, 4.0, 5.0]), onp.array([2, 0, 3]))
      >>> batch.sum()
      Array([ 3.,  0., 12.], dtype=float32)
      >>> batch.softmax().sum()
      Array([1., 0., 1.], dtype=float32)
    """

    __slots__ = ("lengths", "values")

    def __init__(self, values: Any, lengths: Any) -> None:
        self.values = values
        self.lengths = lengths

    # ---- positions ----

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return np.shape(self.lengths)[0]

    @property
    def starts(self) -> Array:
        """The position of the first element of each row."""
        lengths = onp.asarray(self.lengths)
        return onp.cumsum(lengths) - lengths

    @property
    def row_of(self) -> Array:
        """The row of each element; the number of rows for elements that belong to no row."""
        ends = onp.cumsum(onp.asarray(self.lengths))
        return onp.searchsorted(ends, onp.arange(np.shape(self.values)[0]), side="right")

    @property
    def positions(self) -> Array:
        """The position of each element in its row."""
        starts = onp.append(self.starts, onp.sum(onp.asarray(self.lengths)))
        return onp.arange(np.shape(self.values)[0]) - starts[self.row_of]

    # ---- operations on rows ----

    def map(self, fun: Callable[[Any], Any]) -> Ragged:
        """Applies a function to the elements of all rows; the number of elements stays the same."""
        return Ragged(fun(self.values), self.lengths)

    def sum(self) -> Array:
        """Returns the sums of the rows, of shape (rows, ...); zero for a row without elements."""
        return self._reduced(segments.segment_sum)

    def mean(self) -> Array:
        """Returns the means of the rows; NaN for a row without elements."""
        sums = self.sum()
        lengths = onp.asarray(self.lengths).reshape((-1,) + (1,) * (sums.ndim - 1))
        return sums / lengths

    def prod(self) -> Array:
        """Returns the products of the rows; one for a row without elements."""
        return self._reduced(segments.segment_prod)

    def max(self) -> Array:
        """Returns the largest elements of the rows."""
        return self._reduced(segments.segment_max)

    def min(self) -> Array:
        """Returns the smallest elements of the rows."""
        return self._reduced(segments.segment_min)

    def softmax(self) -> Ragged:
        """Returns exponentials of the elements, divided by their sums over the row."""
        largest = lax.stop_gradient(self.max())
        row = self.row_of
        inside = self._inside(np.ndim(self.values))
        shifted = onp.where(inside, self.values - _taken(largest, row), 0)
        powers = Ragged(onp.exp(shifted), self.lengths)
        shares = powers.values / _taken(powers.sum(), row)
        return Ragged(onp.where(inside, shares, 0), self.lengths)

    def _reduced(self, reduction: Callable[..., Array]) -> Array:
        # The row index of an element without a row is out of bounds, so `reduction` drops the
        # element.
        return reduction(onp.asarray(self.values), self.row_of, self.num_rows)

    def _inside(self, ndim: int) -> Array:
        inside = self.row_of < self.num_rows
        return inside.reshape((-1,) + (1,) * (ndim - 1))

    # ---- conversions ----

    def padded(self, size: int, fill_value: ArrayLike = 0) -> Array:
        """Returns the rows in an array of shape (rows, size, ...); longer rows are cut.

        Args:
          size: the size of the padded rows.
          fill_value: the value after the end of a row.
        """
        values = onp.asarray(self.values)
        size = operator.index(size)
        positions = self.starts[:, None] + onp.arange(size)
        inside = onp.arange(size) < onp.asarray(self.lengths)[:, None]
        rows = values.at[positions].get(mode="clip")
        return onp.where(inside.reshape(inside.shape + (1,) * (values.ndim - 1)), rows, fill_value)

    def rows(self) -> list[np.ndarray]:
        """Returns the rows as NumPy arrays. The lengths must be concrete."""
        ends = np.cumsum(np.asarray(self.lengths))
        return np.split(np.asarray(self.values)[: ends[-1] if len(ends) else 0], ends[:-1])

    def __len__(self) -> int:
        return self.num_rows

    def __repr__(self) -> str:
        if isinstance(self.values, Tracer) or isinstance(self.lengths, Tracer):
            return f"Ragged({self.values!r}, {self.lengths!r})"
        return f"Ragged(rows={self.rows()!r})"


pytrees.register_pytree_node(
    Ragged, lambda batch: ((batch.values, batch.lengths), None), lambda _, pair: Ragged(*pair)
)


def _taken(of_rows: Array, row: Array) -> Array:
    return of_rows.at[row].get(mode="clip")


def ragged(rows: Sequence[ArrayLike], *, capacity: int | None = None) -> Ragged:
    """Returns a ragged batch of some rows.

    Args:
      rows: arrays that agree in all dimensions but the first.
      capacity: the total number of elements that the batch has room for. Batches of equal capacity
        and number of rows share compiled programs.

    Returns:
      The batch, with zeros after the last row.

    Raises:
      ValueError: there are no rows, or the rows do not fit into the capacity.

    Example:
      >>> batch = ragged([np.ones(2), np.ones(3)], capacity=8)
      >>> batch.values.shape, batch.lengths
      ((8,), Array([2, 3], dtype=int32))
    """
    if not len(rows):
        raise ValueError("ragged takes at least one row, got none")
    lengths = [np.shape(row)[0] for row in rows]
    joined = onp.concatenate([onp.asarray(row) for row in rows], axis=0)
    if capacity is not None:
        room = operator.index(capacity) - joined.shape[0]
        if room < 0:
            raise ValueError(
                f"the rows have {joined.shape[0]} elements, more than capacity={capacity}. Pass at "
                f"least capacity={joined.shape[0]}."
            )
        joined = onp.pad(joined, [(0, room)] + [(0, 0)] * (joined.ndim - 1))
    return Ragged(joined, onp.asarray(np.array(lengths, np.int32)))


def ragged_attention(
    query: Ragged,
    key: Ragged,
    value: Ragged,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    row_size: int | None = None,
) -> Ragged:
    """Computes attention within each row of ragged batches; see `dot_product_attention`.

    Args:
      query: rows of queries; elements of shape (N, H).
      key: as many rows of keys; elements of shape (K, H), where K divides N.
      value: rows of values, with the lengths of ``key``.
      scale: factor of the logits; ``1 / sqrt(H)`` if None.
      is_causal: whether a position attends only to itself and to earlier positions of its row.
      row_size: an upper bound of the lengths. With a bound, time and memory grow as
        ``rows * row_size ** 2``. Without a bound, they grow as ``total ** 2``.

    Returns:
      A ragged batch of the shape of ``query``.

    Raises:
      ValueError: the batches differ in their numbers of rows, or a row is longer than ``row_size``.

    Example:
      >>> batch = ragged([np.ones((2, 1, 4)), np.zeros((3, 1, 4))])
      >>> ragged_attention(batch, batch, batch, is_causal=True).values.shape
      (5, 1, 4)
    """
    if not query.num_rows == key.num_rows == value.num_rows:
        raise ValueError(
            "ragged_attention takes batches of equally many rows, got "
            f"query: {query.num_rows}, key: {key.num_rows}, value: {value.num_rows}"
        )
    options: dict[str, Any] = {"scale": scale, "is_causal": is_causal}
    if row_size is not None:
        for name, batch in (("query", query), ("key", key)):
            _check_row_size(name, batch, row_size)
        padded = [batch.padded(row_size) for batch in (query, key, value)]
        attended = dot_product_attention(
            *padded, key_value_seq_lengths=onp.asarray(key.lengths), **options
        )
        return query.map(lambda _: _joined(attended, query))
    row, key_row = query.row_of, key.row_of
    mask = row[:, None] == key_row
    if is_causal:
        mask &= query.positions[:, None] >= key.positions
    cleaned = [onp.where(batch._inside(3), batch.values, 0) for batch in (query, key, value)]
    attended = dot_product_attention(*cleaned, mask=mask[None], scale=scale)
    # A query whose row has no keys attends to nothing.
    has_keys = onp.append(onp.asarray(key.lengths) > 0, False)[row]
    return query.map(lambda _: onp.where(has_keys[:, None, None], attended, 0))


def _check_row_size(name: str, batch: Ragged, row_size: int) -> None:
    if isinstance(batch.lengths, Tracer):
        return
    longest = int(np.max(np.asarray(batch.lengths)))
    if longest > row_size:
        raise ValueError(
            f"{name} has a row of {longest} elements, more than row_size={row_size}. Pass at least "
            f"row_size={longest}."
        )


def _joined(rows: Array, like: Ragged) -> Array:
    """Returns the elements of padded rows one after the other, with zeros after the last row."""
    row, position = like.row_of, like.positions
    values = rows.at[row, position].get(mode="clip")
    return onp.where(like._inside(values.ndim), values, 0)
