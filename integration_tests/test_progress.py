# SPDX-License-Identifier: Apache-2.0
"""Bars of loops in compiled programs."""

from __future__ import annotations

import importlib.util

import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.sharding import AxisType, PartitionSpec
from olympus_ir.diagnostics import progress_bars


@pytest.fixture(params=["line", "tqdm"])
def drawn(request, monkeypatch, capsys):
    """Runs a function and returns the final text of its progress bars."""
    if request.param == "line":
        monkeypatch.setattr(progress_bars.importlib.util, "find_spec", lambda name: None)
    elif importlib.util.find_spec("tqdm") is None:
        pytest.skip("tqdm is not installed")

    def run(fun, *args):
        olympus.block_until_ready(fun(*args))
        olympus.effects_barrier()
        assert not progress_bars._bars  # all of them are complete
        lines = [line for line in capsys.readouterr().err.split("\n") if line]
        return [line.split("\r")[-1] for line in lines]

    return run


def scanned(c, **options):
    return lax.scan(lambda c, x: (jnp.sin(c) + x, None), c, jnp.arange(250.0), **options)[0]


def counted(c, **options):
    return lax.while_loop(lambda c: c < 150.0, lambda c: c + 1, c, **options)


def counted_from_zero(c, **options):
    # The compiler knows the number of iterations.
    body = lambda carry: (carry[0] + 1, jnp.sin(carry[1]))  # noqa: E731
    return lax.while_loop(lambda carry: carry[0] < 100, body, (0, c), **options)[1]


LOOPS = {
    "scan": (lambda c: scanned(c, progress="words"), "250/250"),
    "while_loop": (lambda c: counted(c, progress="words"), "150"),
    "while_loop of known length": (lambda c: counted_from_zero(c, progress="words"), "100"),
    "fori_loop": (
        lambda c: lax.fori_loop(0, 30, lambda i, c: c + i, c, progress="words"),
        "30/30",
    ),
    "map": (
        lambda c: lax.map(lambda x: x + c, olympus.progress(jnp.arange(12.0), "words")),
        "12/12",
    ),
    "map in batches": (
        lambda c: lax.map(lambda x: x + c, jnp.arange(12.0), batch_size=5, progress="words"),
        "2/2",
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_draw_one_bar_for_each_run(drawn, name):
    fun, count = LOOPS[name]
    compiled = olympus.jit(fun)
    for run in (fun, compiled, compiled, olympus.jit(olympus.vmap(fun))):
        value = jnp.zeros(3) if run not in (fun, compiled) else 0.0
        (line,) = drawn(run, value)
        assert line.startswith("words: ")
        assert count in line


@pytest.mark.parametrize("options", [{}, {"checkpoints": "sqrt"}, {"checkpoints": 3}])
def test_bars_do_not_count_recomputed_iterations(drawn, options):
    """The bar shows the loop, and not the states that are recomputed."""
    (line,) = drawn(olympus.jit(olympus.grad(lambda c: scanned(c, progress=True, **options))), 0.5)
    assert "250/250" in line


@pytest.mark.parametrize("check_vma", [True, False])
def test_one_bar_is_drawn_for_several_devices(drawn, check_vma):
    mesh = olympus.make_mesh((2,), ("i",), axis_types=(AxisType.Auto,))
    split = PartitionSpec("i")
    for loop, count in ((scanned, "250/250"), (counted_from_zero, "100")):
        fun = olympus.shard_map(
            lambda c, loop=loop: loop(c, progress=True),
            mesh=mesh,
            in_specs=split,
            out_specs=split,
            check_vma=check_vma,
        )
        for _ in range(2):
            (line,) = drawn(olympus.jit(fun), jnp.zeros(2))
            assert count in line


def test_the_longest_loop_of_a_batch_is_shown(drawn):
    def up_to(n):
        return lax.while_loop(lambda c: c < n, lambda c: c + 1, 0, progress="words")

    for ends in ([3, 9, 5], [9, 3], [1, 2]):
        (line,) = drawn(olympus.vmap(up_to), jnp.array(ends))
        assert f"words: {max(ends)}" in line.replace("words: |", "words: ")


def test_a_run_after_a_failed_run_draws_a_new_bar(drawn):
    fails = [True]

    def host(x):
        if fails and x > 5:
            raise ValueError("by intent")
        return x

    def body(c, x):
        return c + olympus.pure_callback(host, x, x), None

    run = olympus.jit(lambda: lax.scan(body, 0.0, jnp.arange(20.0), progress="words")[0])
    with pytest.raises(olympus.errors.JaxRuntimeError):
        olympus.block_until_ready(run())
    fails.clear()
    lines = drawn(run)
    assert "20/20" in lines[-1] and len(lines) == 2


def test_python_loops_draw_a_bar(drawn):
    lines = drawn(lambda: list(olympus.progress(range(7), "words")))
    assert "7/7" in lines[0]


def test_no_operation_where_it_is_off():
    program = str(olympus.make_jaxpr(scanned)(0.0))
    assert "callback" not in program
    assert "progress" not in program
    with pytest.raises(TypeError, match="True, a description"):
        scanned(0.0, progress=3)
