# SPDX-License-Identifier: Apache-2.0
"""Compressed products: derivatives along the sums of the columns or rows of each color."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import olympus_autodiff as autodiff
import olympus_numpy as jnp
from olympus_batching import vmap

from .coloring import recovery_of_symmetric
from .functions import FunctionOfLeaves
from .parts import Parts
from .patterns import Pattern
from .substitution import Substitution, substitution_of

__all__ = ["Products"]


class Products:
    """Evaluation of the entries of a pattern by compressed products.

    Args:
      flat: the function.
      out_avals: the types of the function's results.
      pattern: the pattern of the derivative.
      parts: the colors of the pattern's columns and rows.
      recovery: the way from products to entries: "direct", "star" or "acyclic".
    """

    def __init__(
        self,
        flat: FunctionOfLeaves,
        out_avals: Sequence[Any],
        pattern: Pattern,
        parts: Parts,
        recovery: str,
    ) -> None:
        self._flat = flat
        self._out_avals = out_avals
        self._pattern = pattern
        self._parts = parts
        self._recovery = recovery
        self._substitution: Substitution | None = None
        self._positions = self._positions_in_products()

    def entries(self, leaves: Sequence[Any], others: Sequence[Any]) -> Any:
        """Computes all products of one mode at once, and reads the entries from them."""
        products = []

        def of_leaves(*values: Any) -> list[Any]:
            return self._flat(values, others)

        if self._parts.jvps:
            _, push = autodiff.linearize(of_leaves, *leaves)
            seeds = _seeds(self._parts.columns, self._parts.jvps, self._flat.avals)
            products.append(_joined(vmap(push)(*seeds)))
        if self._parts.vjps:
            _, pull = autodiff.vjp(of_leaves, *leaves)
            seeds = _seeds(self._parts.rows, self._parts.vjps, self._out_avals)
            products.append(_joined(vmap(lambda *cts: pull(list(cts)))(*seeds)))
        if not products:
            return jnp.zeros((0,), self._flat.avals[0].dtype)
        flat = jnp.concatenate(products) if len(products) > 1 else products[0]
        if self._substitution is not None:
            flat = self._with_sums(flat, self._substitution)
        return flat.at[self._positions].get(mode="promise_in_bounds")

    def _positions_in_products(self) -> np.ndarray:
        """Returns the position of each entry in the flat array of all products, jvps first."""
        rows = np.repeat(np.arange(self._pattern.shape[0]), np.diff(self._pattern.indptr))
        columns = self._pattern.indices.astype(np.int64)
        if self._recovery == "acyclic":
            return self._positions_in_sums(rows, columns)
        if self._recovery == "star":
            color, row, known = recovery_of_symmetric(self._pattern, self._parts.columns)
            assert known.all()
            return color * self._pattern.shape[0] + row
        from_jvps = self._parts.columns[columns] * self._pattern.shape[0] + rows
        from_vjps = self._parts.rows[rows] * self._pattern.shape[1] + columns
        return np.where(
            self._parts.by_row, self._parts.jvps * self._pattern.shape[0] + from_vjps, from_jvps
        )

    def _positions_in_sums(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Returns each entry's position in the result of `_with_sums`."""
        found = self._substitution = substitution_of(self._pattern, self._parts.columns)
        on_diagonal = self._parts.columns[columns] * self._pattern.shape[0] + rows
        of_sums = self._parts.jvps * self._pattern.shape[0] + found.sum_of_entry
        return np.where(found.sum_of_entry < 0, on_diagonal, of_sums)

    def _with_sums(self, products: Any, substitution: Substitution) -> Any:
        """Returns the products, followed by the alternating sums over subtrees."""
        vertices, colors, signs, ends, _ = substitution
        signs = signs.astype(products.dtype)
        read = products.at[colors * self._pattern.shape[0] + vertices].get(mode="promise_in_bounds")
        totals = jnp.concatenate([jnp.zeros((1,), products.dtype), jnp.cumsum(signs * read)])
        sums = signs * (totals.at[ends].get(mode="promise_in_bounds") - totals[:-1])
        return jnp.concatenate([products, sums])


# Seeds up to this many bytes are constants of the program. Larger seeds are computed in every call.
_LARGEST_CONSTANT_SEEDS = 1 << 24


def _seeds(colors: np.ndarray, count: int, avals: Sequence[Any]) -> list[Any]:
    """Returns for each array a batch of directions, one for each color."""
    color_ids = np.arange(count, dtype=np.int32)[:, None]
    seeds, start = [], 0
    for aval in avals:
        size = math.prod(aval.shape)
        own = colors[start : start + size].astype(np.int32)
        is_constant = count * size * aval.dtype.itemsize <= _LARGEST_CONSTANT_SEEDS
        selected = (own if is_constant else jnp.asarray(own)) == color_ids
        seeds.append(selected.astype(aval.dtype).reshape((count, *aval.shape)))
        start += size
    return seeds


def _joined(products: Sequence[Any]) -> Any:
    """Returns products with several arrays as one flat array, product after product."""
    flat = [product.reshape(product.shape[0], -1) for product in products]
    return (flat[0] if len(flat) == 1 else jnp.concatenate(flat, axis=1)).ravel()
