# SPDX-License-Identifier: Apache-2.0
"""Views of references as arguments of transformed functions, equal to writes to NumPy arrays."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.sharding import NamedSharding
from olympus.sharding import PartitionSpec as P

START = np.arange(12, dtype=np.float32).reshape(3, 4)

# From a name to the view of a reference and the index that means the same in NumPy.
VIEWS = {
    "row": (lambda ref, i: ref.at[1], (1,)),
    "computed_row": (lambda ref, i: ref.at[i], (2,)),
    "slices": (lambda ref, i: ref.at[1:3, 0:2], (slice(1, 3), slice(0, 2))),
    "view_of_view": (lambda ref, i: ref.at[1:3].at[1], (2,)),
    "rows": (lambda ref, i: ref.at[jnp.array([0, 2])], ([0, 2],)),
    "transposed": (lambda ref, i: ref.at[0:2].T, (slice(0, 2),)),
    "reshaped": (lambda ref, i: ref.at[0:2].reshape(8), (slice(0, 2),)),
}


def double(view):
    view[...] = view[...] * 2.0


def in_scan(view):
    lax.scan(lambda carry, _: (olympus.jit(double)(view), carry)[1:] * 2, None, None, length=1)


CALLS = {
    "jit": olympus.jit(double),
    "checkpoint": olympus.checkpoint(double),
    "cond": lambda view: lax.cond(True, double, lambda view: None, view),
    "switch": lambda view: lax.switch(1, [lambda view: None, double], view),
    "scan": in_scan,
    "jit_of_checkpoint": olympus.jit(lambda view: olympus.checkpoint(double)(view)),
    "lowered": lambda view: olympus.jit(double).lower(view).compile()(view),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("call", ["jit", "checkpoint", "cond", "switch", "scan"])
def test_writes_through_views_in_compiled_functions(call, view):
    make_view, index = VIEWS[view]

    @olympus.jit
    def run(start, i):
        ref = olympus.new_ref(start)
        CALLS[call](make_view(ref, i))
        return ref[...]

    expected = START.copy()
    expected[index] *= 2
    np.testing.assert_array_equal(run(START, 2), expected)


@pytest.mark.parametrize("call", CALLS)
def test_writes_through_views_outside_of_jit(call):
    ref = olympus.new_ref(START)
    CALLS[call](ref.at[1:3, 0:2])
    expected = START.copy()
    expected[1:3, 0:2] *= 2
    np.testing.assert_array_equal(ref[...], expected)


def test_a_view_is_two_operands():
    def run(start, i):
        return olympus.jit(lambda view: view[0])(olympus.new_ref(start).at[i])

    inner = olympus.make_olympuspr(run)(START, 1).eqns[-1].params["jaxpr"]
    assert [aval.str_short() for aval in inner.in_avals] == ["Ref{float32[3,4]}", "int32[]"]
    assert inner.jaxpr.debug_info.arg_names == ("view.ref", "view.transforms[0][0]")
    assert len(olympus.tree.leaves(olympus.new_ref(START).at[1])) == 1


def test_one_program_for_all_computed_indices():
    traced = []

    @olympus.jit
    def f(view):
        traced.append(view.shape)
        double(view)

    ref = olympus.new_ref(START)
    for i in range(3):
        f(ref.at[jnp.int32(i)])
    assert traced == [(4,)]
    np.testing.assert_array_equal(ref[...], START * 2)


@pytest.mark.parametrize("wrap", [olympus.jit, olympus.checkpoint])
def test_gradients_through_views(wrap):
    def f(x):
        ref = olympus.new_ref(jnp.zeros(3) + x)
        wrap(lambda view: view.__setitem__(..., jnp.sin(view[...])))(ref.at[0:2])
        return ref[...].sum()

    # f(x) = 2 sin(x) + x
    np.testing.assert_allclose(olympus.grad(f)(2.0), 2 * np.cos(2.0) + 1, rtol=1e-6)
    np.testing.assert_allclose(olympus.jit(olympus.grad(f))(2.0), 2 * np.cos(2.0) + 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: olympus.jit(lambda a, b: None)(r.at[0], r.at[1]), "at both a.ref and b.ref"),
        (lambda r: olympus.jit(lambda a, b: None)(r.at[0], r), "at both a.ref and b"),
        (lambda r: olympus.jit(lambda a: r[0] + a[0])(r.at[0]), "both closed over and passed"),
        (lambda r: olympus.jit(lambda a: a)(r.at[0]), "references cannot be returned"),
        (lambda r: olympus.jit(lambda: r.at[0])(), "references cannot be returned"),
        (lambda r: lax.scan(lambda c, x: (c, x), r.at[0], None, 2), "cannot be returned"),
    ],
)
def test_aliased_and_returned_views_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(olympus.new_ref(START))


@pytest.mark.parametrize(
    "call",
    [
        lambda view: olympus.vmap(double)(view),
        lambda view: lax.scan(lambda c, x: (c, x[...]), 0, view),
        lambda view: olympus.typeof(view),
    ],
)
def test_views_as_arrays_raise(call):
    with pytest.raises(TypeError, match="TransformedRefs cannot be abstractified"):
        call(olympus.new_ref(START).at[0:2])


@pytest.mark.usefixtures("eight_devices")
def test_replicated_view_under_shard_map():
    mesh = olympus.make_mesh((2,), ("x",), (olympus.sharding.AxisType.Auto,))

    def f(view, x):
        view[...] = view[...] + lax.psum(x, "x")

    ref = olympus.new_ref(olympus.device_put(np.zeros(4, np.float32), NamedSharding(mesh, P())))
    mapped = olympus.shard_map(f, mesh=mesh, in_specs=(P(), P("x")), out_specs=None)
    mapped(ref.at[1:3], np.arange(4, dtype=np.float32))
    np.testing.assert_array_equal(ref[...], [0, 2, 4, 0])


SPLIT_VIEWS = {
    "slice": (lambda ref: ref.at[2:6], (slice(2, 6),)),
    "every second": (lambda ref: ref.at[::2], (slice(None, None, 2),)),
    "slice of a slice": (lambda ref: ref.at[1:].at[1:5], (slice(2, 6),)),
    "chosen elements": (lambda ref: ref.at[np.array([0, 3, 5, 7])], ([0, 3, 5, 7],)),
}


@pytest.mark.usefixtures("eight_devices")
@pytest.mark.parametrize("jit", [lambda f: f, olympus.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", list(SPLIT_VIEWS))
def test_sharded_view_under_shard_map(name, jit):
    mesh = olympus.make_mesh((2,), ("x",), (olympus.sharding.AxisType.Auto,))
    view, place = SPLIT_VIEWS[name]

    def f(part):
        assert part.shape == (2,)
        part[...] = 10 * part[...] + lax.axis_index("x")

    def run(ref):
        olympus.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=None)(view(ref))

    ref = olympus.new_ref(np.arange(8, dtype=np.float32))
    jit(run)(ref)
    wanted = np.arange(8, dtype=np.float32)
    wanted[place] = 10 * wanted[place] + [0, 0, 1, 1]
    np.testing.assert_array_equal(ref[...], wanted)


@pytest.mark.usefixtures("eight_devices")
def test_sharded_views_have_derivatives_and_sharded_types():
    kinds = olympus.sharding.AxisType
    mesh = olympus.make_mesh((2,), ("x",), (kinds.Auto,))

    def square(part):
        part[...] = part[...] ** 2

    def loss(x):
        ref = olympus.new_ref(x)
        olympus.shard_map(square, mesh=mesh, in_specs=P("x"), out_specs=None)(ref.at[2:6])
        return jnp.sum(ref[...])

    x = np.arange(8, dtype=np.float32)
    wanted = np.where((x >= 2) & (x < 6), 2 * x, 1)
    np.testing.assert_array_equal(olympus.grad(loss)(x), wanted)
    table = np.arange(16, dtype=np.float32).reshape(4, 4)
    mesh = olympus.make_mesh((2,), ("x",), (kinds.Explicit,))
    ref = olympus.new_ref(olympus.device_put(table, NamedSharding(mesh, P("x"))))
    with olympus.set_mesh(mesh):
        olympus.shard_map(square, out_specs=None)(ref.at[:, 1:3])  # the type says how to split
    table[:, 1:3] **= 2
    np.testing.assert_array_equal(ref[...], table)


@pytest.mark.usefixtures("eight_devices")
def test_sharded_views_of_one_reference_raise():
    mesh = olympus.make_mesh((2,), ("x",), (olympus.sharding.AxisType.Auto,))
    ref = olympus.new_ref(np.arange(8, dtype=np.float32))

    def f(first, second):
        first[...] = second[...]

    mapped = olympus.shard_map(f, mesh=mesh, in_specs=(P("x"), P("x")), out_specs=None)
    for second in (ref.at[4:], ref):
        with pytest.raises(ValueError, match=r"for shard_map .* appeared at both"):
            mapped(ref.at[:4], second)

    def closed_over(part):
        part[...] = part[...] + ref[0]

    mapped = olympus.shard_map(closed_over, mesh=mesh, in_specs=P("x"), out_specs=None)
    with pytest.raises(ValueError, match="was both closed over and passed"):
        mapped(ref.at[:4])


def test_reference_structs_trace_as_references():
    struct = olympus.ShapeDtypeStruct((3,), np.float32, is_ref=True)
    traced = olympus.jit(double).trace(struct)
    assert [aval.str_short() for aval in traced.jaxpr.in_avals] == ["Ref{float32[3]}"]
    ref = olympus.new_ref(np.arange(3, dtype=np.float32))
    traced.lower().compile()(ref)
    np.testing.assert_array_equal(ref[...], [0, 2, 4])
    with pytest.raises(TypeError, match=r"compiled with Ref\{float32\[3\]\} and called with float"):
        traced.lower().compile()(np.zeros(3, np.float32))
    with pytest.raises(NotImplementedError, match="takes a reference"):
        olympus.export.export(olympus.jit(double))(struct)


@pytest.mark.usefixtures("eight_devices")
@pytest.mark.parametrize("jit", [lambda f: f, olympus.jit], ids=["eager", "jit"])
def test_references_keep_their_sharding(jit):
    mesh = olympus.make_mesh((2,), ("x",), (olympus.sharding.AxisType.Explicit,))
    sharding = NamedSharding(mesh, P("x"))
    ref = olympus.new_ref(olympus.device_put(np.zeros(4, np.float32), sharding))

    def write(ref):
        ref[...] = jnp.arange(4.0)

    jit(write)(ref)
    assert ref.sharding == sharding
    assert olympus.typeof(ref[...]).sharding.spec == P("x")
    np.testing.assert_array_equal(ref[...], np.arange(4))
    with pytest.raises(TypeError, match="can only be indexed by slices, not integers"):
        ref[1] = 3.0


def test_reference_memory_spaces_need_a_program():
    with pytest.raises(NotImplementedError, match="only works inside of a `jit`"):
        olympus.new_ref(START, memory_space=olympus.memory.Space.Host)
    text = str(
        olympus.make_olympuspr(
            lambda: olympus.new_ref(1.0, memory_space=olympus.memory.Space.Host)[...]
        )()
    )
    assert "Ref<MemorySpace.Host>{f32[]}" in text
