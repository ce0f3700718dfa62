# SPDX-License-Identifier: Apache-2.0
"""Loops over vectors of odd length: programs that are not divided, and their values."""

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.settings.config_flags import cpu_lowerings
from olympus_xla import jit
from olympus_xla.compiling.lowering.cpu.machine_code import has_slow_masked_stores
from olympus_xla.compiling.lowering.loops import whole_loops

MILAN = "vendor_id\t: AuthenticAMD\nflags\t\t: fpu avx2 fma"
ODD, EVEN = 99_999, 100_000


@pytest.fixture
def two_threads(monkeypatch):
    monkeypatch.setattr(whole_loops, "threads", lambda: 2)
    monkeypatch.setattr(whole_loops, "has_slow_masked_stores", lambda _: True)


def numbers(*shape, dtype=np.float32):
    return np.linspace(0.1, 100, int(np.prod(shape))).reshape(shape).astype(dtype)


def is_whole(function, *operands):
    return whole_loops.prefers_whole_loops(jit(function).trace(*operands).jaxpr.jaxpr)


def differences(x):
    return lax.sub(lax.slice(x, (1,), x.shape), lax.slice(x, (0,), (x.shape[0] - 1,)))


def test_processors_with_slow_masked_stores():
    assert has_slow_masked_stores(MILAN)
    assert not has_slow_masked_stores(MILAN.replace("avx2", "avx2 avx512f"))
    assert not has_slow_masked_stores(MILAN.replace("AuthenticAMD", "GenuineIntel"))
    assert not has_slow_masked_stores("")


@pytest.mark.usefixtures("two_threads")
def test_programs_of_vectors_of_odd_length():
    assert is_whole(lax.exp, numbers(ODD))
    assert is_whole(differences, numbers(EVEN))
    assert is_whole(lambda x: lax.fori_loop(0, 3, lambda _, y: lax.add(y, x), x), numbers(ODD))
    assert is_whole(lambda x: lax.rev(x, (0,)), numbers(1, ODD))


@pytest.mark.usefixtures("two_threads")
def test_inner_programs_are_read_once():
    function = jit(lambda x: lax.add(x, x))
    for _ in range(60):  # 2^60 calls of the innermost function
        function = jit(lambda x, inner=function: inner(inner(x)))
    assert is_whole(function, numbers(ODD))


@pytest.mark.usefixtures("two_threads")
def test_other_programs_are_divided():
    """Even lengths, small vectors, matrices, and programs that gain more from two threads."""
    assert not is_whole(lax.exp, numbers(EVEN))
    assert not is_whole(lax.exp, numbers(9_999))
    assert not is_whole(lax.exp, numbers(ODD // 3, 3))
    assert not is_whole(lambda x: lax.add(x, lax.sin(x)), numbers(ODD))
    assert not is_whole(lax.cumsum, numbers(ODD))


@pytest.mark.usefixtures("two_threads")
def test_programs_with_both():
    """Four fifths of the elements decide."""
    mixed = lambda x, y: (lax.exp(x), lax.exp(y))  # noqa: E731
    assert is_whole(mixed, numbers(5 * ODD), numbers(200, 250))
    assert not is_whole(mixed, numbers(ODD), numbers(200, 250))


@pytest.mark.usefixtures("two_threads")
def test_threads_and_the_flag(monkeypatch):
    for count in (1, 5):
        monkeypatch.setattr(whole_loops, "threads", lambda count=count: count)
        assert not is_whole(lax.exp, numbers(ODD))
    monkeypatch.setattr(whole_loops, "threads", lambda: 4)
    assert is_whole(lax.exp, numbers(ODD))
    cpu_lowerings.update(False)
    try:
        assert not is_whole(lax.exp, numbers(ODD))
    finally:
        cpu_lowerings.update(True)


@pytest.mark.usefixtures("two_threads")
def test_compiled_programs_are_not_divided():
    whole = jit(lambda x: lax.add(lax.exp(x), x)).lower(numbers(ODD)).compile().as_text()
    assert "fusion" in whole
    assert "outer_dimension_partitions" not in whole


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int32, np.int8])
@pytest.mark.parametrize("length", [65_537, ODD, 300_001])
def test_sums_of_reversed_arrays_are_exact(dtype, length):
    """Sums of small integers are exact."""
    x = (np.arange(length) % 50).astype(dtype)
    found = jit(lambda x: lax.add(lax.add(x, x), lax.rev(x, (0,))))(x)
    np.testing.assert_array_equal(np.asarray(found), x + x + x[::-1])


@pytest.mark.usefixtures("two_threads")
def test_bits_equal_divided_loops(monkeypatch):
    x = numbers(ODD)
    function = jit(lambda x: lax.mul(lax.tanh(x), lax.exp(lax.neg(x))))
    whole = function.lower(x).compile()
    monkeypatch.setattr(whole_loops, "threads", lambda: 1)
    divided = function.lower(x).compile()
    assert "outer_dimension_partitions" not in whole.as_text()
    np.testing.assert_array_equal(np.asarray(whole(x)), np.asarray(divided(x)))
