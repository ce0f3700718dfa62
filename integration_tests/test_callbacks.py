# SPDX-License-Identifier: Apache-2.0
"""Callbacks under single and composed transformations, on one device and on eight."""

from __future__ import annotations

import traceback

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import P, grad, jit, lax, shard_map, vmap
from olympus.experimental import io_callback
from olympus.experimental.buffer_callback import buffer_callback
from olympus.sharding import NamedSharding

SCALAR = olympus.ShapeDtypeStruct((), np.float32)


@pytest.fixture
def printed(capsys):
    """Returns a function that waits for all effects and returns the lines printed so far."""

    def lines():
        olympus.effects_barrier()
        return capsys.readouterr().out.splitlines()

    return lines


@pytest.fixture
def mesh(eight_devices):
    return olympus.make_mesh((8,), ("x",))


def show(text, *values, **options):
    olympus.debug.print(text, *values, **options)


# ---- debug.print ----


def test_print_eagerly_and_compiled(printed):
    show("x {} {y}", jnp.arange(3), y=2.5)
    assert printed() == ["x [0 1 2] 2.5"]
    jit(lambda x: show("{x:.3f} {{}} {0!r}", 7, x=x))(1.25)
    assert printed()[0].startswith("1.250 {} ")


def test_print_under_vmap_prints_each_example(printed):
    vmap(lambda x: show("x {}", x))(jnp.arange(3))
    assert sorted(printed()) == ["x 0", "x 1", "x 2"]
    jit(vmap(lambda x, y: show("x {} {}", x, y), in_axes=(0, None)))(jnp.arange(2), 7)
    assert sorted(printed()) == ["x 0 7", "x 1 7"]


def test_print_under_grad_shows_the_primal(printed):
    def f(x):
        show("f {}", x)
        return jnp.sin(x)

    assert float(grad(f)(1.0)) == pytest.approx(np.cos(1.0))
    assert float(jit(grad(f))(1.0)) == pytest.approx(np.cos(1.0))
    olympus.jvp(f, (1.0,), (1.0,))
    assert printed() == ["f 1.0"] * 3


def test_ordered_print_in_loops(printed):
    def body(c, x):
        show("{} {}", c, x, ordered=True)
        return c + x, c

    jit(lambda: lax.scan(body, 0, jnp.arange(4)))()
    assert printed() == ["0 0", "0 1", "1 2", "3 3"]

    def step(c):
        show("{}", c, ordered=True)
        return c + 1

    lax.while_loop(lambda c: c < 3, step, 0)
    assert printed() == ["0", "1", "2"]


def test_prints_are_ordered_across_calls(printed):
    @jit
    def f(x):
        for i in range(3):
            show("{}", x + i, ordered=True)

    for x in range(0, 300, 10):
        f(x)
    assert printed() == [str(x + i) for x in range(0, 300, 10) for i in range(3)]


def test_print_in_cond_prints_taken_branch_only(printed):
    f = jit(lambda p, x: lax.cond(p, lambda x: show("t {}", x), lambda x: show("f {}", x), x))
    f(True, 1)
    f(False, 2)
    assert printed() == ["t 1", "f 2"]


@pytest.mark.parametrize("ordered", [False, True])
def test_print_of_sharded_value(printed, mesh, ordered):
    x = olympus.device_put(jnp.arange(8), NamedSharding(mesh, P("x")))
    doubled = jit(lambda x: (show("{}", x, ordered=ordered), x * 2)[1])(x)
    assert printed() == ["[0 1 2 3 4 5 6 7]"]
    assert doubled.sharding.is_equivalent_to(x.sharding, 1)


def test_partitioned_print_shows_one_shard_per_device(printed, mesh):
    x = olympus.device_put(jnp.arange(8), NamedSharding(mesh, P("x")))
    show_block = lambda x: (show("{}", x, partitioned=True), x + 1)[1]  # noqa: E731
    np.testing.assert_array_equal(jit(show_block)(x), np.arange(8) + 1)
    blocks = [f"[{i}]" for i in range(8)]
    assert sorted(printed()) == blocks
    jit(shard_map(show_block, mesh=mesh, in_specs=P("x"), out_specs=P("x")))(x)
    assert sorted(printed()) == blocks
    show_block(x)
    assert printed() == ["[0 1 2 3 4 5 6 7]"]
    shapes = []
    jit(lambda x: olympus.debug.callback(lambda x: shapes.append(x.shape), x, partitioned=True))(x)
    assert not printed() and shapes == [(1,)] * 8
    with pytest.raises(ValueError, match="ordered effects are not supported for more than 1 dev"):
        jit(lambda x: show("{}", x, ordered=True, partitioned=True))(x)


def test_print_in_shard_map_shows_each_shard(printed, mesh):
    def body(x):
        show("{}", x)
        return x

    x = olympus.device_put(jnp.arange(8), NamedSharding(mesh, P("x")))
    jit(shard_map(body, mesh=mesh, in_specs=P("x"), out_specs=P("x")))(x)
    assert sorted(printed()) == [f"[{i}]" for i in range(8)]


def test_print_with_wrong_number_of_values_raises():
    with pytest.raises(IndexError):
        show("{} {}", 1)
    with pytest.raises(ValueError, match="Unused positional arguments"):
        show("{}", 1, 2)


def test_debug_functions_with_options_only(printed):
    for function in (olympus.debug.print, olympus.debug.log, olympus.debug.callback):
        with pytest.raises(TypeError, match="unexpected arguments in the two-call form"):
            function(None, 1.0)
        with pytest.raises(TypeError, match="in the two-call form"):
            function(x=1.0)
    olympus.debug.print(ordered=True)("{x}", x=3)
    olympus.debug.print("{{}}")
    assert printed() == ["3", "{{}}"]


def test_ordered_prints_of_batched_loops_of_different_lengths(printed):
    def count(x):
        def step(c):
            olympus.debug.print("{}", c, ordered=True)
            return c + 1

        return lax.while_loop(lambda c: c < 3, step, x)

    np.testing.assert_array_equal(vmap(count)(jnp.array([0, 1])), [3, 3])
    # The second example is done after two of the three steps.
    assert printed() == ["0", "1", "1", "2", "2", "3"]
    with pytest.raises(NotImplementedError, match="IO effect not supported in vmap-of-while"):
        vmap(lambda x: lax.while_loop(lambda c: c < 3, lambda c: c + _one(), x))(np.arange(2))


def _one():
    return io_callback(lambda: np.int32(1), olympus.ShapeDtypeStruct((), np.int32), ordered=True)


# ---- pure_callback ----


def host_function(seen):
    def host(x, y):
        seen.append((np.shape(x), np.shape(y)))
        return np.asarray(np.sin(x) + y, np.float32)

    return host


@pytest.mark.parametrize(
    ("method", "shapes"),
    [
        ("sequential", [((), ())] * 3),
        ("sequential_unrolled", [((), ())] * 3),
        ("expand_dims", [((3,), (1,))]),
        ("broadcast_all", [((3,), (3,))]),
        ("legacy_vectorized", [((3,), ())]),
    ],
)
@pytest.mark.parametrize("transform", [lambda f: f, jit])
def test_pure_callback_under_vmap(method, shapes, transform):
    seen = []
    host = host_function(seen)

    def f(x, y):
        return olympus.pure_callback(host, SCALAR, x, y, vmap_method=method)

    x = jnp.arange(3.0)
    result = transform(vmap(f, in_axes=(0, None)))(x, 1.0)
    np.testing.assert_allclose(result, np.sin(np.arange(3.0)) + 1, rtol=1e-6)
    assert seen == shapes
    if method != "legacy_vectorized":
        twice = transform(vmap(vmap(f, in_axes=(None, 0)), in_axes=(0, None)))(x, x)
        expected = np.sin(np.arange(3.0))[:, None] + np.arange(3.0)
        np.testing.assert_allclose(twice, expected, rtol=1e-6)


def test_pure_callback_without_method_is_not_batched():
    with pytest.raises(NotImplementedError, match="vmap_method"):
        vmap(lambda x: olympus.pure_callback(np.sin, SCALAR, x))(jnp.ones(3))


def test_pure_callback_of_pytrees_in_scan():
    def host(t):
        return {"sum": np.asarray(t["a"]) + np.asarray(t["b"]), "pair": (np.asarray(t["a"]) * 2,)}

    def body(c, x):
        out = olympus.pure_callback(host, {"sum": SCALAR, "pair": (SCALAR,)}, {"a": c, "b": x})
        return out["sum"], out["pair"][0]

    total, doubles = lax.scan(body, 0.0, jnp.arange(4.0))
    assert float(total) == 6
    assert doubles.tolist() == [0, 0, 2, 6]


def test_pure_callback_is_differentiated_by_custom_jvp_only():
    def f(x):
        return olympus.pure_callback(np.sin, SCALAR, x, vmap_method="sequential")

    with pytest.raises(ValueError, match="Pure callbacks do not support"):
        grad(f)(1.0)

    g = olympus.custom_jvp(f)
    g.defjvp(lambda primals, tangents: (g(*primals), jnp.cos(primals[0]) * tangents[0]))
    x = jnp.arange(3.0)
    np.testing.assert_allclose(jit(vmap(grad(g)))(x), np.cos(np.arange(3.0)), rtol=1e-6)


def test_pure_callback_of_a_sharded_value(mesh):
    seen = []

    def host(x):
        seen.append(np.shape(x))
        return np.asarray(x) + 1

    x = olympus.device_put(jnp.arange(16.0).reshape(8, 2), NamedSharding(mesh, P("x")))
    f = jit(lambda x: olympus.pure_callback(host, x, x) * 2)
    np.testing.assert_array_equal(f(x), (np.arange(16.0).reshape(8, 2) + 1) * 2)
    assert seen == [(8, 2)]
    seen.clear()
    blocks = shard_map(
        lambda x: olympus.pure_callback(host, x, x), mesh=mesh, in_specs=P("x"), out_specs=P("x")
    )
    np.testing.assert_array_equal(jit(blocks)(x), np.arange(16.0).reshape(8, 2) + 1)
    assert seen == [(1, 2)] * 8


@pytest.mark.parametrize("transform", [lambda f: f, jit])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros(5, np.float32), r"Expected: \(3,\), Actual: \(5,\)"),
        (np.zeros(3, np.int8), "Expected: float32, Actual: int8"),
        ((1, 2), "Mismatched number of outputs from callback. Expected: 1, Actual: 2"),
    ],
)
def test_callback_result_of_wrong_type_raises(transform, wrong, message):
    promised = olympus.ShapeDtypeStruct((3,), np.float32)
    with pytest.raises(RuntimeError, match=message):
        transform(lambda: olympus.pure_callback(lambda: wrong, promised))().block_until_ready()


# ---- io_callback ----


def test_ordered_io_callback():
    log = []

    def note(v):
        log.append(int(v))
        return np.int32(len(log))

    count = olympus.ShapeDtypeStruct((), np.int32)
    f = jit(lambda x: io_callback(note, count, x, ordered=True))
    assert [int(f(10 * i)) for i in range(4)] == [1, 2, 3, 4]
    assert log == [0, 10, 20, 30]
    with pytest.raises(ValueError, match="ordered IO callback"):
        vmap(lambda x: io_callback(note, count, x, ordered=True))(jnp.arange(3))
    with pytest.raises(ValueError, match="IO callbacks do not support"):
        grad(lambda x: io_callback(np.sin, SCALAR, x))(1.0)


def test_io_callback_without_results_under_vmap():
    log = []
    vmap(lambda x: io_callback(lambda v: log.append(int(v)), None, x))(jnp.arange(3))
    olympus.effects_barrier()
    assert sorted(log) == [0, 1, 2]


@pytest.mark.parametrize("transform", [lambda f: f, jit])
def test_io_callback_in_batched_cond(transform):
    log = []

    def host(v):
        log.append(float(v))
        return np.float32(10 * v)

    def halve(v):
        return io_callback(host, SCALAR, v) * 0 + v / 2

    def chosen(x, y):
        return lax.cond(x > 0, lambda v: io_callback(host, SCALAR, v) + y, lambda v: -v, x)

    def repeated(x):
        return lax.while_loop(lambda v: v > 1, halve, x)

    x, y = jnp.array([1.0, -2.0, 3.0]), jnp.array([0.5, 0.5, 0.25])
    found = transform(vmap(chosen))(x, y)
    np.testing.assert_array_equal(found, [10.5, 2.0, 30.25])
    assert log == [1.0, 3.0]
    log.clear()
    found = transform(vmap(vmap(chosen), (1, None), 1))(jnp.stack([x, -x], 1), y)
    np.testing.assert_array_equal(found, np.stack([[10.5, 2, 30.25], [1, 20.5, 3]], 1))
    assert sorted(log) == [1.0, 2.0, 3.0]
    log.clear()
    found = transform(vmap(repeated))(jnp.array([4.0, 0.5, 2.0]))
    np.testing.assert_array_equal(found, [1.0, 0.5, 1.0])
    assert log == [4.0, 2.0, 2.0]


def test_io_callback_and_collective_on_paths():
    def chosen(x):
        def talk(v):
            return io_callback(np.float32, SCALAR, v) + lax.psum(v, "i")

        return lax.cond(x > 0, talk, lambda v: v, x)

    with pytest.raises(NotImplementedError, match="collective over the batched axis 'i'"):
        vmap(chosen, axis_name="i")(jnp.arange(3.0))


# ---- errors ----


class UserError(Exception):
    pass


def raise_user_error(x):
    raise UserError(f"what the user wrote, {float(x)}")


@pytest.mark.parametrize("transform", [lambda f: f, jit, vmap])
def test_an_error_surfaces_with_the_users_traceback(transform):
    def f(x):
        return olympus.pure_callback(raise_user_error, x, x, vmap_method="sequential")

    x = jnp.ones(2 if transform is vmap else ())
    message = r"UserError: what the user wrote, 1.0"
    with pytest.raises(olympus.errors.JaxRuntimeError, match=message) as caught:
        transform(f)(x).block_until_ready()
    cause = caught.value.__cause__
    assert isinstance(cause, UserError)
    assert "raise_user_error" in [frame.name for frame in traceback.extract_tb(cause.__traceback__)]


def test_error_without_result_surfaces_at_barrier():
    with pytest.raises(olympus.errors.JaxRuntimeError, match="UserError"):
        jit(lambda x: olympus.debug.callback(raise_user_error, x))(1.0)
        olympus.effects_barrier()
    olympus.effects_barrier()  # is raised once


# An error on one device used to leave the others in a collective, until XLA ended the process.


def raise_once(log, x):
    log.append(np.shape(x))
    if len(log) == 1:
        raise UserError(f"first of {len(log)}")
    return np.asarray(x) * 2


def on_one_device(host, x):
    return olympus.pure_callback(host, x, x) + x.sum()


def on_each_device(host, x):
    def block(v):
        return olympus.pure_callback(host, v, v) + lax.psum(v, "x")

    return shard_map(block, in_specs=P("x"), out_specs=P("x"), check_vma=False)(x)


def in_a_loop(host, x):
    def body(i, v):
        return io_callback(host, v, v, ordered=True) + x.sum()

    return lax.fori_loop(0, 3, body, x.sum())


def without_results(host, x):
    olympus.debug.callback(host, x)
    return x / x.sum()


def without_outputs(host, x):
    olympus.debug.callback(host, x.sum())


def in_buffers(host, x):
    def fill(context, out, v):
        np.asarray(out)[...] = host(np.asarray(v))

    return shard_map(
        lambda v: (
            buffer_callback(fill, olympus.ShapeDtypeStruct(v.shape, v.dtype))(v) + lax.psum(v, "x")
        ),
        in_specs=P("x"),
        out_specs=P("x"),
        check_vma=False,
    )(x)


@pytest.mark.parametrize(
    "program",
    [on_one_device, on_each_device, in_a_loop, without_results, without_outputs, in_buffers],
)
def test_error_on_one_device(program, mesh):
    log = []
    x = olympus.device_put(jnp.arange(8.0), NamedSharding(mesh, P("x")))
    with olympus.set_mesh(mesh):
        f = jit(lambda x: program(lambda v: raise_once(log, v), x))
        with pytest.raises(olympus.errors.JaxRuntimeError, match="UserError: first of") as caught:
            f(x)
        assert isinstance(caught.value.__cause__, UserError)
        olympus.effects_barrier()  # nothing is left to raise
        again = f(x)
    if again is not None:
        assert np.asarray(again).sum() > 0
    if program is not on_each_device and program is not in_buffers:
        # No function ran after the one that failed.
        assert len(log) == (4 if program is in_a_loop else 2)


def test_exit_on_one_device(mesh):
    def leave(x):
        raise SystemExit(3)

    x = olympus.device_put(jnp.arange(8.0), NamedSharding(mesh, P("x")))
    with pytest.raises(SystemExit):
        jit(lambda x: on_one_device(leave, x))(x)


def test_callback_with_64_bits(mesh):
    """The threads of XLA did not know the setting, so the callback's result had 32 bits."""
    seen = []

    def host(x):
        seen.append(x.dtype)
        return x * 2

    with olympus.enable_x64(True):
        x = olympus.device_put(jnp.arange(8.0) / 3, NamedSharding(mesh, P("x")))
        np.testing.assert_array_equal(jit(lambda x: on_one_device(host, x))(x), x * 2 + x.sum())
    assert seen == [np.float64]


def test_independent_programs(mesh):
    """The program of the callback waited for the one that called it, and the process hung."""
    place = NamedSharding(mesh, P("x"))
    x = olympus.device_put(jnp.arange(8.0), place)
    halved = jit(lambda x: x / 2)
    halved(x)  # from now on C++ calls it

    def host(x):
        return np.asarray(halved(olympus.device_put(np.asarray(x), place)))

    with pytest.raises(olympus.errors.JaxRuntimeError, match="function of arrays on several dev"):
        jit(lambda x: on_one_device(host, x))(x)
    on_one = jit(lambda x: on_one_device(lambda v: np.asarray(halved(np.asarray(v))), x))
    np.testing.assert_array_equal(on_one(x), np.arange(8) / 2 + 28)
    np.testing.assert_array_equal(halved(x), np.arange(8) / 2)
