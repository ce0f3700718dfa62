# SPDX-License-Identifier: Apache-2.0
"""Code for the processor at hand: loops without tiles, wide vectors, the user's choice first."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.lax import linalg
from olympus_ir.settings.config_flags import cpu_lowerings
from olympus_xla import jit
from olympus_xla.compiling.cache_key import processor_identity
from olympus_xla.compiling.compile_options import compile_options
from olympus_xla.compiling.lowering.cpu.machine_code import (
    has_fast_wide_vectors,
    has_slow_compressed_stores,
    has_slow_wide_gathers,
    tuned,
)

WIDTH = "xla_cpu_prefer_vector_width"
TURIN = "vendor_id\t: AuthenticAMD\nflags\t\t: fpu avx2 avx512f avx512bw"
COMPILED = """
import numpy as np
from olympus_ir import lax
from olympus_ir.lax import linalg
from olympus_xla import jit
jit(lax.abs).lower(np.zeros(100_000, np.float32)).compile()
"""


@pytest.fixture
def default_lowerings():
    cpu_lowerings.update(False)
    yield
    cpu_lowerings.update(True)


def module_of(function):
    return jit(function).lower(np.ones((4, 4), np.float32)).compiler_ir()


def has_tiles(function):
    options = tuned(compile_options([0]), "cpu", module_of(function))
    return b"xla_cpu_disable_tiled_emitter" not in options.SerializeAsString()


def test_programs_that_may_transpose_keep_tiles():
    """Transpositions are faster in tiles; XLA transposes operands of products and of LAPACK."""
    assert not has_tiles(lax.abs)
    assert not has_tiles(lambda x: lax.reduce_sum(lax.exp(lax.add(x, x)), (0,)))
    assert has_tiles(lambda x: lax.abs(lax.transpose(x, (1, 0))))
    assert has_tiles(lambda x: lax.dot(x, x))
    assert has_tiles(linalg.cholesky)
    assert has_tiles(lambda x: lax.scan(lambda c, y: (c, lax.dot(c, x)), x, x)[1])


def test_processors_with_fast_wide_vectors():
    assert has_fast_wide_vectors(TURIN)
    assert not has_fast_wide_vectors(TURIN.replace("AuthenticAMD", "GenuineIntel"))
    assert not has_fast_wide_vectors(TURIN.replace("avx512f", "avx512"))
    assert not has_fast_wide_vectors("")


GENOA = f"cpu family\t: 25\n{TURIN}"


@pytest.mark.parametrize("is_slow", [has_slow_compressed_stores, has_slow_wide_gathers])
def test_what_is_slow_on_zen_4(is_slow):
    assert is_slow(GENOA)
    assert not is_slow(GENOA.replace("25", "26"))
    assert not is_slow(GENOA.replace("AuthenticAMD", "GenuineIntel"))
    assert not is_slow(GENOA.replace("avx512f", "avx512"))
    assert not is_slow("")


@pytest.mark.parametrize(("identity", "width"), [(GENOA, False), (TURIN, True)])
def test_gathers_keep_short_vectors(identity, width, monkeypatch):
    monkeypatch.setattr(
        "olympus_xla.compiling.lowering.cpu.machine_code.processor_identity", lambda: identity
    )
    places = np.arange(4)[::-1].copy()

    def is_wide(function):
        options = tuned(compile_options([0]), "cpu", module_of(function))
        return (WIDTH, 512) in options.env_option_overrides

    numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))

    def taken(x):
        return lax.gather(x, places[:, None], numbers, (1, 4))

    assert is_wide(taken) == width
    assert is_wide(lambda x: lax.exp(taken(x)))
    assert is_wide(lambda x: lax.add(x, x))


@pytest.fixture
def wide(monkeypatch):
    monkeypatch.setattr(
        "olympus_xla.compiling.lowering.cpu.machine_code.has_fast_wide_vectors", lambda _: True
    )


@pytest.mark.usefixtures("wide")
def test_other_options_are_kept():
    options = compile_options(
        [3], options={"xla_cpu_enable_fast_math": False}, disabled_passes=["dce"]
    )
    found = tuned(options, "cpu", module_of(lax.abs))
    assert found.env_option_overrides == [*options.env_option_overrides, (WIDTH, 512)]
    assert options.env_option_overrides == [
        ("xla_cpu_enable_fast_math", False),
        ("xla_disable_hlo_passes", "dce"),
    ]
    assert repr(found.device_assignment) == repr(options.device_assignment)
    assert found.num_partitions == options.num_partitions
    build, before = found.executable_build_options, options.executable_build_options
    assert build.use_shardy_partitioner
    assert build.debug_options.xla_backend_optimization_level == (
        before.debug_options.xla_backend_optimization_level
    )


@pytest.mark.usefixtures("wide")
def test_vector_width_of_the_user_is_kept(monkeypatch):
    options = compile_options([0], options={WIDTH: 256})
    assert tuned(options, "cpu", module_of(lax.abs)).env_option_overrides == [(WIDTH, 256)]
    monkeypatch.setenv("XLA_FLAGS", f"--{WIDTH}=128")
    assert tuned(compile_options([0]), "cpu", module_of(lax.abs)).env_option_overrides == []


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("function", [lax.abs, lambda x: lax.dot(x, x)])
def test_loops_are_unrolled_unless_the_caller_says_no(function):
    """The option is added to the others, with tiles and without."""
    option = b"xla_cpu_disable_loop_unrolling"
    rolled, unrolled = (
        tuned(compile_options([0]), "cpu", module_of(function), unrolls_loops=unrolls)
        for unrolls in (False, True)
    )
    assert option in rolled.SerializeAsString()
    assert option not in unrolled.SerializeAsString()
    assert rolled.env_option_overrides == unrolled.env_option_overrides
    tiles = b"xla_cpu_disable_tiled_emitter"
    assert (tiles in rolled.SerializeAsString()) == (tiles in unrolled.SerializeAsString())


def test_other_platforms_keep_their_options():
    options = compile_options([0])
    assert tuned(options, "cuda", module_of(lax.abs)) is options


@pytest.mark.usefixtures("default_lowerings")
def test_the_flag_turns_it_off():
    options = compile_options([0])
    assert tuned(options, "cpu", module_of(lax.abs)) is options


def test_machine_code_keeps_tiles_in_registers(tmp_path):
    """Tiles would be on the stack."""
    environment = dict(os.environ, XLA_FLAGS=f"--xla_dump_to={tmp_path} --xla_dump_emitter_re=.*")
    subprocess.run([sys.executable, "-c", COMPILED], check=True, env=environment)
    (path,) = tmp_path.glob("*abs*ir-with-opt.ll")
    code = path.read_text()
    assert "alloca" not in code
    widths = set(map(int, re.findall(r"fabs\.v(\d+)f32", code)))
    if has_fast_wide_vectors(processor_identity() or ""):
        assert max(widths) == 16


def error_of(function, x, exact):
    got = np.asarray(jit(function).lower(x).compile()(x)).astype(np.float64)
    unit = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    return np.max(np.abs(got - exact) / unit)


def test_rsqrt_is_as_accurate_as_the_default():
    # The error is the same for operands times powers of 4.
    x = np.arange(0x3F800000, 0x40800000, 7, dtype=np.uint32).view(np.float32)
    exact = 1 / np.sqrt(x.astype(np.float64))
    ours = error_of(lax.rsqrt, x, exact)
    cpu_lowerings.update(False)
    try:
        theirs = error_of(lax.rsqrt, x, exact)
    finally:
        cpu_lowerings.update(True)
    assert ours <= theirs + 1e-3


@pytest.mark.parametrize(
    "function", [lax.exp, lax.log, lax.expm1, lax.tanh, lax.sqrt, lax.floor, lax.logistic]
)
@pytest.mark.parametrize("size", [1, 15, 17, 4096, 100_000])
def test_values_equal_the_default(function, size):
    """The last elements are computed in a scalar loop, which contracts products and sums."""
    x = np.random.default_rng(size).uniform(0.1, 3, size).astype(np.float32)
    ours = np.asarray(jit(function).lower(x).compile()(x))
    cpu_lowerings.update(False)
    try:
        theirs = np.asarray(jit(function).lower(x).compile()(x))
    finally:
        cpu_lowerings.update(True)
    np.testing.assert_array_max_ulp(ours, theirs, maxulp=1)
    whole = size // 16 * 16
    assert ours[:whole].tobytes() == theirs[:whole].tobytes()
