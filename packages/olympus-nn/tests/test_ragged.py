# SPDX-License-Identifier: Apache-2.0
"""Ragged batches: each row has the result that it has alone."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_numpy as onp
from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir.programs.jit import jit
from olympus_nn.attention import dot_product_attention
from olympus_nn.ragged import Ragged, ragged, ragged_attention


def rows_of(lengths, *shape, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(length, *shape)).astype(np.float32) for length in lengths]


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("capacity", [None, 16])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_reductions_of_rows(shape, capacity):
    rows = rows_of([2, 5, 1, 4], *shape)
    batch = ragged(rows, capacity=capacity)
    for name in ("sum", "mean", "prod", "max", "min"):
        expected = np.stack([getattr(np, name)(row, axis=0) for row in rows])
        close(getattr(batch, name)(), expected)
        close(jit(lambda each, name=name: getattr(each, name)())(batch), expected)
    for found, row in zip(batch.softmax().rows(), rows, strict=True):
        powers = np.exp(row - row.max(0))
        close(found, powers / powers.sum(0))


def test_rows_without_elements():
    batch = Ragged(onp.arange(4.0), onp.array([0, 3, 0, 1]))
    close(batch.sum(), [0, 3, 0, 3])
    close(batch.softmax().sum(), [0, 1, 0, 1])
    np.testing.assert_array_equal(batch.row_of, [1, 1, 1, 3])
    np.testing.assert_array_equal(batch.positions, [0, 1, 2, 0])
    assert [row.tolist() for row in batch.rows()] == [[], [0, 1, 2], [], [3]]
    close(batch.padded(2, -1.0), [[-1, -1], [0, 1], [-1, -1], [3, -1]])


def plain_attention(query, key, value, is_causal):
    """Softmax attention of one head in NumPy."""
    scores = query @ key.T / np.sqrt(query.shape[-1])
    if is_causal:
        scores = np.where(np.tri(*scores.shape, dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ value


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("row_size", [None, 5, 8])
@pytest.mark.parametrize("capacity", [None, 16])
def test_ragged_attention_equals_attention_of_each_row(is_causal, row_size, capacity):
    lengths = [2, 5, 1, 4]
    query, key, value = (rows_of(lengths, 2, 4, seed=seed) for seed in range(3))
    found = ragged_attention(
        *(ragged(rows, capacity=capacity) for rows in (query, key, value)),
        is_causal=is_causal,
        row_size=row_size,
    )
    for number, row in enumerate(found.rows()):
        for head in range(2):
            of_head = (rows[number][:, head] for rows in (query, key, value))
            close(row[:, head], plain_attention(*of_head, is_causal))


def test_cross_attention_between_ragged_batches():
    query, key = rows_of([2, 3], 1, 4), rows_of([4, 1], 1, 4, seed=1)
    kept = ragged(key, capacity=9)
    # The elements behind the last row have no influence.
    spoiled = kept.map(lambda values: values.at[5:].set(onp.nan))

    def total(values, batch):
        queries = ragged(query).map(lambda _: values)
        return onp.sum(ragged_attention(queries, batch, batch).values ** 2)

    def separate(values):
        parts = [
            dot_product_attention(part, keys, keys)
            for part, keys in zip((values[:2], values[2:]), key, strict=True)
        ]
        return onp.sum(onp.concatenate(parts) ** 2)

    values = np.concatenate(query)
    close(total(values, spoiled), separate(values))
    close(grad(total)(values, spoiled), grad(separate)(values))


def test_batches_of_batches():
    lengths = np.array([[2, 3], [4, 1]], np.int32)
    values = np.random.default_rng(0).normal(size=(2, 5)).astype(np.float32)
    found = vmap(lambda batch: batch.sum())(Ragged(values, lengths))
    close(found, [[values[0, :2].sum(), values[0, 2:].sum()], [values[1, :4].sum(), values[1, 4]]])


def test_unsuitable_rows_raise():
    with pytest.raises(ValueError, match="at least one row"):
        ragged([])
    with pytest.raises(ValueError, match="more than capacity=3. Pass at least capacity=5"):
        ragged([np.ones(5)], capacity=3)
    one, two = ragged(rows_of([2], 1, 4)), ragged(rows_of([2, 3], 1, 4))
    with pytest.raises(ValueError, match="query: 1, key: 2, value: 2"):
        ragged_attention(one, two, two)
    with pytest.raises(ValueError, match="a row of 3 elements, more than row_size=2"):
        ragged_attention(two, two, two, row_size=2)
