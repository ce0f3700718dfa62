# SPDX-License-Identifier: Apache-2.0
"""Containers that `vmap` maps as arrays: a table of rows with unbatched names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from olympus_batching import vmap
from olympus_batching.containers import containers, register_container
from olympus_ir import lax
from olympus_ir.trees import pytrees


class Table:
    """Rows of numbers, and a row of weights that all rows share."""

    def __init__(self, rows: Any, weights: Any, shape: tuple[int, ...]) -> None:
        self.rows, self.weights, self.shape = rows, weights, shape


def split(table: Table, axis: int) -> tuple[Table, list[int | None]]:
    if axis != 0:
        raise ValueError(f"a table cannot be mapped over axis {axis}")
    return Table(table.rows, table.weights, table.shape[1:]), [0, None]


def join(table: Table, axis: int, size: int) -> Table:
    if axis != 0:
        raise ValueError(f"rows cannot be in axis {axis}")
    return Table(table.rows, table.weights, (size, *table.shape))


@pytest.fixture(autouse=True)
def registered():
    try:
        pytrees.register_pytree_node(
            Table, lambda t: ((t.rows, t.weights), t.shape), lambda s, b: Table(*b, s)
        )
    except ValueError:
        pass  # by an earlier test
    register_container(Table, split, join)
    yield
    containers.pop(Table)


ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)
TABLE = Table(ROWS, np.array([1, 2, 3], np.float32), (2, 3))


def test_examples_have_one_dimension_less():
    shapes = []

    def weighted(table):
        shapes.append((table.shape, table.rows.shape, table.weights.shape))
        return lax.reduce_sum(lax.mul(table.rows, table.weights), (0,))

    np.testing.assert_allclose(vmap(weighted)(TABLE), ROWS @ TABLE.weights)
    np.testing.assert_allclose(vmap(lambda *, t: weighted(t))(t=TABLE), ROWS @ TABLE.weights)
    assert shapes == [((3,), (3,), (3,))] * 2


def test_results_are_joined():
    out = vmap(lambda table: {"t": table})(TABLE)["t"]
    assert (type(out), out.shape) == (Table, (2, 3))
    np.testing.assert_array_equal(out.rows, ROWS)
    made = vmap(lambda row: Table(row, row, (3,)))(ROWS)
    assert made.shape == (2, 3)


def test_unbatched_containers_are_shared():
    out = vmap(lambda table, row: lax.add(table.rows[0], row), in_axes=(None, 0))(TABLE, ROWS)
    np.testing.assert_array_equal(out, ROWS + ROWS[0])
    out = vmap(lambda table, row: table, in_axes=(None, 0), out_axes=None)(TABLE, ROWS)
    assert out.shape == (2, 3)


def test_invalid_container_axes_raise():
    with pytest.raises(ValueError, match="cannot be mapped over axis 1"):
        vmap(lambda table: table, in_axes=1)(TABLE)
    with pytest.raises(ValueError, match="cannot be in axis 1"):
        vmap(lambda table: table, out_axes=1)(TABLE)


def test_axes_of_trees_with_containers():
    def fun(tree, other):
        return lax.add(tree["table"].rows, lax.add(tree["row"], other))

    out = vmap(fun, in_axes=({"table": 0, "row": None}, 1))(
        {"table": TABLE, "row": ROWS[0]}, ROWS.T
    )
    np.testing.assert_array_equal(out, 2 * ROWS + ROWS[0])
