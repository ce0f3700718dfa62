# SPDX-License-Identifier: Apache-2.0
"""Mutable objects of user-defined types, in compiled functions, loops, branches and gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus.experimental import cur_qdd, pallas
from olympus.experimental.hijax import AvalQDD, HiPrimitive, MutableHiType, register_hitype
from olympus.experimental.pallas import tpu as pallas_tpu
from olympus.interpreters import ad, partial_eval


@dataclass(frozen=True)
class CellState:
    leaves: tuple[Any, ...]
    tree: Any


@dataclass(frozen=True)
class CellType(MutableHiType):
    """Type of cells. The type does not depend on the contents."""

    has_qdd = True

    def str_short(self, *args, **kwargs):
        return "Cell"

    def to_tangent_aval(self):
        return CellType()

    def lo_ty_qdd(self, state):
        return list(state.leaves)

    def new_from_loval(self, state, *values):
        cell = Cell.__new__(Cell)
        cell.content = olympus.tree.unflatten(state.tree, values)
        return cell

    def read_loval(self, state, cell):
        return olympus.tree.leaves(cell.content)

    def update_from_loval(self, state, cell, *values):
        cell.content = olympus.tree.unflatten(state.tree, values)


class Cell:
    """Holds a pytree of arrays."""

    def __init__(self, content):
        self.content = content

    def cur_qdd(self):
        leaves, tree = olympus.tree.flatten(self.content)
        return CellState(tuple(map(olympus.typeof, leaves)), tree)

    def set(self, content):
        leaves, tree = olympus.tree.flatten(content)
        put_p.bind(self, *leaves, tree=tree)

    def get(self):
        state = cur_qdd(self)
        return olympus.tree.unflatten(state.tree, take_p.bind(self, avals=state.leaves))


register_hitype(Cell, lambda cell: CellType())


class Make(HiPrimitive):
    def abstract_eval(self, *avals, tree):
        return AvalQDD(CellType(), CellState(tuple(avals), tree)), set()

    def to_lojax(self, *leaves, tree):
        return Cell(olympus.tree.unflatten(tree, leaves))


class Put(HiPrimitive):
    multiple_results = True

    def to_lojax(self, cell, *leaves, tree):
        cell.content = olympus.tree.unflatten(tree, leaves)
        return []


class Take(HiPrimitive):
    multiple_results = True

    def to_lojax(self, cell, *, avals):
        return olympus.tree.leaves(cell.content)


make_p, put_p, take_p = Make("make"), Put("put"), Take("take")


def new_cell(content):
    leaves, tree = olympus.tree.flatten(content)
    return make_p.bind(*leaves, tree=tree)


def test_arguments_of_compiled_functions():
    traced = []

    @olympus.jit
    def add(tree, x):
        traced.append(olympus.typeof(x).dtype)
        cell = tree["cell"]
        cell.set(cell.get() + x)
        return cell.get() * 2

    first, second = Cell(1.0), Cell(2.0)
    add({"cell": Cell(1.0)}, 1.0)
    traced.clear()
    assert add({"cell": first}, 1.0) == 4 and first.get() == 2
    assert add({"cell": second}, 2.0) == 8 and second.get() == 4
    assert len(traced) <= 1
    third = Cell(3)
    add({"cell": third}, 2.0)
    assert third.get() == 5 and traced  # the cell held a value of another type


def test_objects_that_functions_close_over():
    cell, other, traced = Cell(1.0), Cell(10.0), []

    @olympus.jit
    def inner(x):
        cell.set(cell.get() + x)

    @olympus.jit
    def outer(x):
        traced.append(1)
        inner(x)
        other.set(other.get() + cell.get())

    outer(2.0)
    count = len(traced)
    outer(5.0)
    outer(7.0)
    assert len(traced) == count
    assert cell.get() == 15 and other.get() == 10 + 3 + 8 + 15


def test_objects_made_within():
    @olympus.jit
    def function(x):
        cell = new_cell(x)
        cell.set(cell.get() + 1)

        @olympus.jit
        def again():
            cell.set(cell.get() * 2)

        again()
        again()
        return cell.get()

    assert function(1.0) == 8


def test_types_of_contents_change():
    cell = Cell(None)

    @olympus.jit
    def function(cell, x):
        value = cell.get()
        cell.set(x if value is None else [x, x])

    function(cell, 1.0)
    assert cell.get() == 1
    function(cell, 2.0)
    assert cell.get() == [2, 2]
    function(cell, jnp.arange(3))
    assert cell.get()[0].shape == (3,)


def test_the_same_object_twice():
    cell = Cell(1.0)

    @olympus.jit
    def function(first, second):
        first.set(first.get() + 1)
        return second.get(), first is second

    assert function(cell, cell)[0] == 2 and cell.get() == 2


@pytest.mark.parametrize("compiled", [False, True])
def test_loops_update_mutable_values(compiled):
    wrap = olympus.jit if compiled else lambda f: f
    cell, total = Cell(1.0), Cell(jnp.float32(0))

    def scan():
        def body(carry, x):
            cell.set(cell.get() * 2)
            total.set(total.get() + x * cell.get())
            return carry + x, total.get()

        return olympus.lax.scan(body, 0.0, jnp.arange(3.0))

    carry, totals = wrap(scan)()
    assert carry == 3 and cell.get() == 8
    np.testing.assert_array_equal(totals, [0, 4, 20])

    def loop(n):
        return olympus.lax.while_loop(
            lambda i: i < n, lambda i: (cell.set(cell.get() + 1), i + 1)[1], 0
        )

    assert wrap(loop)(4) == 4 and cell.get() == 12
    wrap(lambda: olympus.lax.fori_loop(0, 3, lambda i, c: (cell.set(cell.get() * 2), c)[1], 0))()
    assert cell.get() == 96

    def change():
        olympus.lax.fori_loop(0, 3, lambda i, c: (cell.set([1.0]), c)[1], 0)

    with pytest.raises(TypeError, match="type-changing mutations not allowed"):
        wrap(change)()


def test_loops_keep_their_options():
    def counted(cell, c):
        cell.set(cell.get() + 1)
        return jnp.sin(c)

    def scanned(x):
        cell = new_cell(0.0)
        body = lambda c, _: (counted(cell, c), None)  # noqa: E731
        return olympus.lax.scan(body, x, length=9, checkpoints="sqrt")[0]

    def repeated(x, **options):
        cell = new_cell(0.0)

        def body(carry):
            return carry[0] + 1, counted(cell, carry[1])

        return olympus.lax.while_loop(lambda carry: carry[0] < 9, body, (0, x), **options)[1]

    assert "checkpoints=" in str(olympus.make_olympuspr(scanned)(0.5))

    def plain(x):
        for _ in range(9):
            x = jnp.sin(x)
        return x

    # The states have no derivatives, so the loops are differentiated along their other results.
    slope = olympus.grad(plain)(0.5)
    np.testing.assert_allclose(olympus.grad(scanned)(0.5), slope, rtol=1e-6)
    for options in ({"checkpoints": 3}, {"max_steps": 20}):
        function = lambda x, options=options: repeated(x, **options)  # noqa: E731
        np.testing.assert_allclose(olympus.grad(function)(0.5), slope, rtol=1e-6)
    with pytest.raises(NotImplementedError, match="use mutable objects"):
        repeated(0.5, inverse=lambda carry: (carry[0] - 1, jnp.arcsin(carry[1])))


@pytest.mark.parametrize("compiled", [False, True])
def test_branches_update_mutable_values(compiled):
    wrap = olympus.jit if compiled else lambda f: f

    def function(x):
        cell = new_cell(x)
        olympus.lax.cond(x > 0, lambda c: c.set(c.get() + 1), lambda c: None, cell)
        olympus.lax.switch(1, [lambda: None, lambda: cell.set(cell.get() * 3)])
        return cell.get()

    assert wrap(function)(1.0) == 6 and wrap(function)(-1.0) == -3


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_ignore_stopped_updates(compiled):
    wrap = olympus.jit if compiled else lambda f: f
    cell, given = Cell(2.0), Cell(2.0)

    def loss(x, other):
        cell.set(olympus.lax.stop_gradient(x * 3))
        other.set(olympus.lax.stop_gradient(x * 2))
        return x**2 + cell.get() + other.get()

    gradient = wrap(lambda x, other: olympus.grad(loss)(x, other))(4.0, given)
    assert gradient == 8 and cell.get() == 12 and given.get() == 8


def test_cotangents_are_kept():
    cell = Cell(0.0)

    @olympus.custom_vjp
    def noted(x):
        return x

    def backward(_, ct):
        cell.set(ct)
        return (ct,)

    noted.defvjp(lambda x: (x, None), backward)
    for wrap in (lambda f: f, olympus.jit):
        cell.set(0.0)
        wrap(olympus.grad(lambda x: 2 * noted(2 * x)))(1.0)
        assert cell.get() == 2


def test_each_example_has_its_own_value():
    found = olympus.vmap(lambda x: new_cell(x + 1).get())(jnp.arange(3.0))
    np.testing.assert_array_equal(found, [1, 2, 3])


def test_kernels_beside_mutable_types():
    """Once a high type is registered, programs are searched for it, including kernels."""

    def numbers():
        ref = olympus.new_ref(jnp.zeros(2, jnp.int32))

        @pallas.core_map(pallas_tpu.create_tensorcore_mesh("core", num_cores=2), interpret=True)
        def write():
            core = olympus.lax.axis_index("core")
            ref[core] = core + 1

        return ref[...]

    np.testing.assert_array_equal(olympus.jit(numbers)(), [1, 2])


def test_types_of_results():
    cell = Cell(1.0)
    assert olympus.eval_shape(lambda c: c.get() + 1, cell).shape == ()
    assert cell.get() == 1


def test_states_are_known_during_tracing():
    cell = Cell(1.0)
    known = []

    @olympus.jit
    def function(cell):
        cell.set(jnp.arange(3))
        known.append(cur_qdd(cell).leaves[0].shape)

    function(cell)
    assert known[-1] == (3,) and cur_qdd(cell).leaves[0].shape == (3,)


def test_tracers_of_arrays_have_no_state():
    seen = []

    def look(x):
        seen.append(x)
        seen.append((x.cur_qdd(), getattr(x, "mutable_qdd", None)))
        return x

    olympus.jit(look)(1.0)
    tracer, states = seen
    assert isinstance(tracer, partial_eval.DynamicOlympusprTracer)
    assert states == (None, None)
    assert tracer.aval_mutable_qdd == (tracer.aval, None)
    seen.clear()
    olympus.jvp(look, (1.0,), (1.0,))
    tracer, states = seen
    assert isinstance(tracer, ad.JVPTracer)
    assert states == (None, None)
    assert tracer.type_state() is None
    assert tracer._trace.cur_qdd(2.0) is None
