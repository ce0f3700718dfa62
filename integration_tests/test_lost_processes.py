# SPDX-License-Identifier: Apache-2.0
"""Programs that would end the interpreter, were they passed on to the runtime as they are.

Each runs in a process of its own. It has to come to its last line: a crash, an abort or a hang is
what is tested against. What happens when a process of several dies is in test_multiprocess.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

TIMEOUT = 120

PREAMBLE = """
import numpy as np
import olympus
import olympus.numpy as jnp
from olympus import P, jit, lax, shard_map
from olympus.sharding import Mesh, NamedSharding

olympus.config.update("olympus_num_cpu_devices", 4)
mesh = Mesh(np.array(olympus.devices()), ("x",))
rows = NamedSharding(mesh, P("x"))

def expect(error, part, function, *args):
    try:
        function(*args)
    except error as problem:
        assert part in str(problem), problem
    else:
        raise AssertionError(f"no {error.__name__} was raised")
"""


def run(program: str, **environment: str) -> subprocess.CompletedProcess:
    source = PREAMBLE + textwrap.dedent(program) + '\nprint("done")\n'
    return subprocess.run(
        [sys.executable, "-c", source],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def check(program: str, **environment: str) -> None:
    result = run(program, **environment)
    assert result.returncode == 0, result.stderr[-3000:]
    assert result.stdout.endswith("done\n")


def test_delete_an_array_exported_by_dlpack():
    check("""
        x = jnp.arange(4.0)
        capsule = x.__dlpack__()
        view = np.from_dlpack(x)
        x.delete()
        del capsule
        assert view.tolist() == [0, 1, 2, 3]
        y = jnp.arange(3.0) + 1
        capsule = y.__dlpack__()
        del y
        del capsule
        expect(RuntimeError, "delete", lambda: x + 1)
    """)


@pytest.mark.parametrize("warm", [False, True])
def test_donated_array_on_several_devices(warm):
    check(f"""
        doubled = jit(lambda x: x * 2)
        consumed = jit(lambda x: x * 2, donate_argnums=0)
        added = jit(lambda x, y: x + y, donate_argnums=0)

        def array():
            return olympus.device_put(jnp.arange(8.0), rows)

        for _ in range(4 * {warm}):  # later calls are made by C++
            doubled(array()), consumed(array()), added(array(), array())
        x = array()
        y = consumed(x)
        assert x.is_deleted()
        np.testing.assert_array_equal(y, np.arange(8.0) * 2)
        for function in doubled, consumed, consumed.lower(y).compile(), lambda x: x + 1:
            expect(RuntimeError, "deleted", function, x)
        expect(RuntimeError, "deleted", added, y, x)
        expect(ValueError, "donate the same buffer twice", added, y, y)
    """)


def test_many_collective_programs_in_flight():
    check("""
        add = lambda x: lax.psum(x, "x")
        total = jit(shard_map(add, mesh=mesh, in_specs=P("x"), out_specs=P()))
        x = olympus.device_put(jnp.arange(8.0), rows)
        results = [total(x + i) for i in range(150)]
        np.testing.assert_array_equal(results[149], np.arange(8.0).reshape(4, 2).sum(0) + 4 * 149)
    """)


@pytest.mark.parametrize("partitioner", ["0", "1"])
def test_shardings_with_and_without_shardy(partitioner):
    check(
        """
        x = olympus.device_put(jnp.arange(8.0), rows)
        double = jit(lambda x: lax.with_sharding_constraint(x * 2, rows), out_shardings=rows)
        np.testing.assert_array_equal(double(x), np.arange(8.0) * 2)
        """,
        OLYMPUS_USE_SHARDY_PARTITIONER=partitioner,
    )


def test_callbacks_of_partitioned_programs():
    check("""
        seen = []

        @jit
        def f(x):
            olympus.debug.callback(lambda v: seen.append(np.asarray(v).shape), x)
            return olympus.pure_callback(lambda v: np.asarray(v) + 1, x, x)

        x = olympus.device_put(jnp.arange(8.0).reshape(4, 2), rows)
        np.testing.assert_array_equal(f(x), np.arange(8.0).reshape(4, 2) + 1)
        olympus.effects_barrier()
        assert seen

        def blocks(x):
            olympus.debug.callback(lambda v: seen.append(np.asarray(v).shape), x)
            return x

        jit(shard_map(blocks, mesh=mesh, in_specs=P("x"), out_specs=P("x")))(x)
        olympus.effects_barrier()
        assert seen.count((1, 2)) == 4, seen
    """)


def test_callback_result_of_wrong_type():
    check("""
        promised = olympus.ShapeDtypeStruct((3,), jnp.float32)
        for wrong in (np.zeros(5, np.float32), np.zeros(3, np.int8), None, "text", (1, 2)):
            f = jit(lambda x: olympus.pure_callback(lambda v: wrong, promised, x))
            expect(Exception, "", lambda: f(jnp.ones(3)).block_until_ready())
    """)


def test_collectives_in_divergent_branches():
    check("""
        def branch(x):
            return lax.cond(lax.axis_index("x") == 0, lambda x: lax.pvary(lax.psum(x, "x"), "x"),
                            lambda x: x, x)

        def loop(x):
            last = lax.axis_index("x")
            def body(carry):
                i, x = carry
                return i + 1, lax.pvary(lax.psum(x, "x"), "x")
            return lax.while_loop(lambda c: c[0] < last, body, (lax.pvary(0, "x"), x))[1]

        def fine(x):  # the decision is the same on all devices
            large = lax.pmax(jnp.max(x), "x") > 3
            return lax.cond(large, lambda x: lax.psum(x, "x"), lambda x: lax.pmin(x, "x"), x)

        x = jnp.arange(4.0)
        for program in branch, loop:
            mapped = shard_map(program, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
            expect(ValueError, "psum over axis 'x' may not be reached", jit(mapped), x)
            expect(ValueError, "psum over axis 'x' may not be reached", mapped, x)
        mapped = shard_map(fine, mesh=mesh, in_specs=P("x"), out_specs=P())
        assert jit(mapped)(x).tolist() == [0.0]
        assert jit(mapped)(x + 1).tolist() == [10.0]
    """)


def test_exit_inside_context_managers():
    check("""
        olympus.set_mesh(mesh)
        olympus.enable_x64(True).__enter__()
        context = olympus.named_scope("still open")
        context.__enter__()
        loop = olympus.jit(lambda x: lax.fori_loop(0, 1000, lambda i, x: x * 0.999, x))
        x = loop(jnp.ones(100_000))  # is still running when the interpreter leaves
    """)


def test_exit_during_tracing():
    result = run("""
        import sys
        jit(lambda x: sys.exit(3))(1.0)
    """)
    assert result.returncode == 3, result.stderr


def test_numpy_views_are_read_only():
    check("""
        x = jnp.arange(4.0)
        view = np.asarray(x)
        expect(ValueError, "read-only", view.__setitem__, 0, 1.0)
        expect(ValueError, "WRITEABLE", view.setflags, True)

        def write(v):
            expect(ValueError, "read-only", np.asarray(v).__setitem__, 0, 7.0)
            return np.asarray(v) * 2

        assert jit(lambda x: olympus.pure_callback(write, x, x))(x).tolist() == [0, 2, 4, 6]
        assert x.tolist() == [0, 1, 2, 3]

        host = np.arange(64.0, dtype=np.float32)  # a buffer that may be shared
        y = jnp.array(host)
        host[:] = -1
        assert y.tolist() == list(range(64))
        z = jnp.asarray(host.copy())
        assert z.sum() == -64
    """)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32"])
def test_division_of_integer_constants_by_zero(dtype):
    check(f"""
        one, zero = np.ones(2, "{dtype}"), np.zeros(2, "{dtype}")
        assert (jit(lambda: lax.div(one, zero))() == np.int64(-1).astype("{dtype}")).all()
        assert (jit(lambda: lax.rem(one, zero))() == one).all()
        assert (jit(lambda x: lax.rem(x, x - x))(one) == one).all()
        assert jit(lambda: jnp.mean(jnp.zeros((0, 4)), dtype="{dtype}"))().dtype == "{dtype}"
    """)
