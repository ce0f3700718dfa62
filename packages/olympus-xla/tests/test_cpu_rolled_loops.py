# SPDX-License-Identifier: Apache-2.0
"""Large programs over small arrays of many shapes compile without unrolled loops."""

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.settings.config_flags import cpu_lowerings
from olympus_xla import jit
from olympus_xla.calls import compiled
from olympus_xla.compiling.lowering.loops.rolled_loops import prefers_rolled_loops

STEPS = 70


def steps(x):
    """Applies three operations a step to arrays that grow by a row."""
    for _ in range(STEPS):
        x = lax.sin(lax.mul(x, x))
        x = lax.pad(x, np.float32(0), [(0, 1, 0)] + [(0, 0, 0)] * (x.ndim - 1))
    return x


def equal_steps(x):
    for _ in range(5 * STEPS):
        x = lax.sin(lax.mul(x, x))
    return x


def prefers(function, *operands):
    return prefers_rolled_loops(jit(function).trace(*operands).jaxpr.jaxpr)


def zeros(*shape):
    return np.zeros(shape, np.float32)


def test_large_programs_over_small_arrays():
    assert prefers(steps, zeros(8, 16))
    assert prefers(jit(steps), zeros(8, 16))
    assert not prefers(lambda x: lax.sin(lax.mul(x, x)), zeros(8, 16))


def test_equal_operations_are_compiled_once():
    assert not prefers(equal_steps, zeros(8, 16))


def test_large_arrays_keep_unrolled_loops():
    assert not prefers(steps, zeros(64, 64))
    assert not prefers(lambda x, y: (steps(x), lax.exp(y)), zeros(8), zeros(1 << 17))


def test_loops_keep_unrolled_loops():
    def looped(x):
        return lax.scan(lambda c, _: (lax.add(c, lax.reduce_sum(steps(c), (0,))), None), x, None, 3)

    assert not prefers(looped, zeros(8))
    assert not prefers(jit(looped), zeros(8))


def test_the_flag_turns_it_off():
    cpu_lowerings.update(False)
    try:
        assert not prefers(steps, zeros(8))
    finally:
        cpu_lowerings.update(True)


def reference(function, x):
    if function is lax.sin:
        return np.sin(x)
    for _ in range(STEPS):
        x = np.append(np.sin(x * x), np.float32(0))
    return x


@pytest.mark.parametrize(("function", "unrolls"), [(steps, False), (lax.sin, True)])
def test_the_compiler_is_told(function, unrolls, monkeypatch):
    told = []
    compile_module = compiled.compile_module

    def recorded(*args, **options):
        told.append(options["unrolls_loops"])
        return compile_module(*args, **options)

    monkeypatch.setattr(compiled, "compile_module", recorded)
    x = np.linspace(0, 1, 8, dtype=np.float32)
    result = jit(function).lower(x).compile()(x)
    assert told == [unrolls]
    np.testing.assert_allclose(result, reference(function, x), rtol=1e-5)
