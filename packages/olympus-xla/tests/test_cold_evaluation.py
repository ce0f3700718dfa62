# SPDX-License-Identifier: Apache-2.0
"""First calls of eager programs on NumPy: the bits of compiled programs, or no evaluation."""

import contextlib
import gc
import sys

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import olympus_xla
from olympus_ir import lax
from olympus_ir.diagnostics import monitoring
from olympus_ir.programs.calls.options import JitOptions
from olympus_ir.programs.jit import jit as library_jit
from olympus_ir.settings import config
from olympus_ir.types import dtypes
from olympus_ir.types.avals import operand_avals
from olympus_sharding import AxisType, NamedSharding, PartitionSpec, make_mesh
from olympus_testing import cases
from olympus_xla.arrays import transfer_guards
from olympus_xla.arrays.layouts import layouts_in_use
from olympus_xla.arrays.transfer import put_leaf
from olympus_xla.calls import eager
from olympus_xla.calls.on_reference import cold_evaluation
from olympus_xla.calls.on_reference.exactness import exactness_rules
from olympus_xla.calls.program_executables import compiled_for

COMPILED = "/jax/core/compile/backend_compile_duration"
DTYPES = frozenset(
    map(np.dtype, ("float32", "float64", "float16", "int32", "int8", "uint8", "bool", "complex64"))
)


@contextlib.contextmanager
def cold_evaluation_set_to(level):
    before = config.config.olympus_cold_evaluation
    config.config.update("olympus_cold_evaluation", level)
    try:
        yield
    finally:
        config.config.update("olympus_cold_evaluation", before)


@pytest.fixture(autouse=True)
def exact(monkeypatch):
    # Other tests of the process have set guards and layouts, with which programs are compiled.
    monkeypatch.setattr(transfer_guards, "_in_use", False)
    monkeypatch.setattr(layouts_in_use, "in_use", False)
    with cold_evaluation_set_to("exact"):
        yield


@pytest.fixture
def compilations():
    """Names of the events of compilations since the test began."""
    found = []

    def note(event, seconds, **details):
        if event == COMPILED:
            found.append(event)

    monitoring.register_event_duration_secs_listener(note)
    yield found
    monitoring.unregister_event_duration_listener(note)


# ---- hard values ----


@np.errstate(all="ignore")
def hard(x, generator, special=True):
    """The array with most elements replaced by limits, zeros, infinities and random bits."""
    x = np.array(x)
    if x.dtype.kind == "c":
        parts = [hard(part, generator, special) for part in (x.real, x.imag)]
        return np.stack(parts, -1).view(x.dtype).reshape(x.shape)
    if x.dtype == bool:
        return generator.integers(0, 2, x.shape).astype(bool)
    random = generator.integers(0, 256, 32 * x.dtype.itemsize).astype(np.uint8).view(x.dtype)
    if dtypes.issubdtype(x.dtype, np.floating):
        limits = dtypes.finfo(x.dtype)
        few = [0, -0.0, 1, -1, 0.5, 2.5, -1.5, 1e-3, 255.5, 3e9, -3e9, np.inf, -np.inf]
        limit = [limits.max, limits.min, limits.tiny, limits.smallest_subnormal, np.nan, -np.nan]
        pool = np.concatenate([np.array(values).astype(x.dtype) for values in (few, limit)])
        pool = np.concatenate([pool, random])
        if not special:
            wide = np.abs(pool.astype(np.float64))
            pool = pool[(wide > float(limits.tiny)) | ((wide == 0) & ~np.signbit(pool))]
    else:
        limits = dtypes.iinfo(x.dtype)
        few = [limits.min, limits.max, 0, 1, limits.max // 2, *([-1] if limits.min < 0 else [])]
        pool = np.concatenate([np.array(few, object).astype(x.dtype), random])
    replaced = generator.random(x.shape) < 0.7
    return np.where(replaced, generator.choice(pool, x.shape), x).astype(x.dtype)


def bits(array):
    array = getattr(array, "physical", array)
    return np.asarray(array).tobytes()


def check(program, operands):
    """Compares both results if there are two; returns whether there are."""
    operands = list(map(put_leaf, operands))
    executables, program.executables, program.uncompiled = program.executables, {}, None
    cold = cold_evaluation.evaluate(program, JitOptions(), operands)
    program.executables = executables
    if cold is None:
        return False
    compiled = compiled_for(program, JitOptions(), operands).call(operands)
    for found, expected in zip(cold, compiled, strict=True):
        assert found.aval == expected.aval
        assert bits(found) == bits(expected)
    return True


# ---- bits ----


def one_case_a_dtype():
    chosen = {}
    for case in cases():
        dtype = next((np.asarray(arg).dtype for arg in case.args if np.size(arg) > 1), None)
        if dtype in DTYPES and exactness_rules.find(case.primitive) is not None:
            if case.primitive.family not in ("references", "callbacks"):
                chosen.setdefault((case.primitive, dtype), case)
    return list(chosen.values())


@pytest.mark.parametrize("case", one_case_a_dtype(), ids=str)
def test_exact_rules_give_the_bits_of_xla(case):
    generator = np.random.default_rng(0)
    with case.context():
        avals = operand_avals(case.primitive.name, case.args)
        program = eager._program(case.primitive, avals, dict(case.params))
        check(program, case.args)
        for special in (True, False, False, False):
            operands = [hard(arg, generator, special) for arg in case.args]
            check(program, operands)


FUNCTIONS = {
    "add": lax.add,
    "sub": lax.sub,
    "mul": lax.mul,
    "div": lax.div,
    "max": lax.max,
    "rem": lax.rem,
    "lt": lax.lt,
    "eq": lax.eq,
    "product and sum": lambda x, y: lax.add(lax.mul(x, y), y),
    "two sums": lambda x, y: lax.add(lax.add(x, y), y),
    "sum, compared": lambda x, y: lax.lt(lax.add(x, y), y),
    "sum, as integers": lambda x, y: lax.convert_element_type(lax.add(x, y), np.int32),
    "by a constant": lambda x, y: lax.div(lax.add(x, np.ones((), x.dtype)), y),
    "by a repeated divisor": lambda x, y: lax.div(
        x, lax.full_like(y, lax.reduce_max(y, range(y.ndim)))
    ),
    "reversed": lambda x, y: lax.div(lax.rev(x, (0,)), y),
    "sorted": lambda x, y: lax.sort(lax.concatenate([x, y], 0)),
    "largest": lambda x, y: lax.reduce_max(lax.concatenate([x, y], 0), (0,)),
    "place of the smallest": lambda x, y: lax.argmin(lax.select(x < y, x, y), 0, np.int32),
    "sum of all": lambda x, y: lax.reduce_sum(lax.add(x, y), (0,)),
}


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(FUNCTIONS)),
    dtype=st.sampled_from(["float32", "float16", "bfloat16", "int32", "uint8", "int8"]),
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    seed=st.integers(0, 2**32 - 1),
    special=st.booleans(),
)
def test_programs_give_the_bits_of_xla(name, dtype, shape, seed, special):
    generator = np.random.default_rng(seed)
    zeros = np.zeros(shape, dtypes.dtype(dtype))
    operands = [hard(zeros, generator, special) for _ in range(2)]
    with cold_evaluation_set_to("off"):
        expected = library_jit(lambda x, y: FUNCTIONS[name](x, y))(*operands)
    found = library_jit(lambda x, y: FUNCTIONS[name](x, y))(*operands)
    assert found.aval == expected.aval
    assert bits(found) == bits(expected)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_random_sums_and_products_equal_xla(name):
    generator = np.random.default_rng(1)
    aval = operand_avals(name, [np.zeros(1 << 15, np.float32)])
    params = {"out_dtype": None} if name == "mul" else {}
    program = eager._program(getattr(lax, f"{name}_p"), aval * 2, params)
    for _ in range(4):
        scales = np.exp2(generator.integers(-40, 40, (2, 1 << 15))).astype(np.float32)
        numbers = generator.standard_normal((2, 1 << 15)).astype(np.float32) * scales
        assert check(program, list(numbers))


@pytest.mark.parametrize("name", ["max", "div", "add"])
def test_operands_with_other_xla_semantics_are_compiled(name):
    zeros = np.zeros(3, np.float32)
    params = {}
    program = eager._program(getattr(lax, f"{name}_p"), operand_avals(name, [zeros, zeros]), params)
    assert not check(program, [np.full(3, np.nan, np.float32), zeros + 1])
    assert not check(program, [np.full(3, 1e-40, np.float32), zeros + 1])


# ---- the policy ----


def test_frequent_programs_are_compiled(compilations):
    function = library_jit(lambda x: lax.rev(x, (0,)))
    operand = put_leaf(np.arange(5.0, dtype=np.float32))
    for _ in range(cold_evaluation._CALLS):
        function(operand)
    assert not compilations
    for _ in range(3):
        assert np.asarray(function(operand)).tolist() == [4, 3, 2, 1, 0]
    assert len(compilations) == 1


def test_compiled_calls_run_in_cpp():
    operand = put_leaf(np.arange(5.0, dtype=np.float32))
    functions = (library_jit(lambda x: lax.rev(x, (0,))), lax.neg, lambda x: lax.add(x, x))
    for function in functions:
        for _ in range(cold_evaluation._CALLS + 2):
            function(operand)
        called = []
        sys.setprofile(lambda frame, event, _, called=called: called.append(frame.f_code.co_name))
        try:
            function(operand)
        finally:
            sys.setprofile(None)
        assert "cache_miss" not in called


def test_calls_over_many_elements_are_weighted(compilations):
    function = library_jit(lambda x: lax.rev(x, (0,)))
    operand = put_leaf(np.arange(1 << 20, dtype=np.float32))
    few = 2 * operand.size // cold_evaluation._ELEMENTS_OF_A_CALL
    assert 1 < few < cold_evaluation._CALLS
    for _ in range(cold_evaluation._CALLS // few):
        assert np.array_equal(function(operand), np.arange(1 << 20)[::-1])
    assert not compilations
    for _ in range(2):
        assert np.array_equal(function(operand), np.arange(1 << 20)[::-1])
    assert len(compilations) == 1


def test_large_arrays_and_inexact_programs_are_compiled(compilations):
    library_jit(lambda x: lax.rev(x, (0,)))(put_leaf(np.zeros((1 << 20) + 1, np.float32)))
    assert len(compilations) == 1
    library_jit(lambda x: lax.sin(x))(put_leaf(np.zeros(3, np.float32)))
    assert len(compilations) == 2


def test_close_mode_evaluates_inexact_operations(compilations):
    with cold_evaluation_set_to("close"):
        result = library_jit(lambda x: lax.sin(x) + 1)(put_leaf(np.ones(3, np.float32)))
        np.testing.assert_allclose(np.asarray(result), np.sin(1) + 1, rtol=1e-6)
        assert not compilations
        with pytest.raises(ValueError, match="cold_evaluation"):
            config.config.update("olympus_cold_evaluation", "sometimes")


def test_long_loops_are_compiled(compilations):
    with cold_evaluation_set_to("close"):
        count = library_jit(lambda: lax.while_loop(lambda n: n < 9999, lambda n: n + 1, 0))()
    assert int(count) == 9999
    assert len(compilations) == 1


def test_dtypes_that_xla_lacks_are_refused():
    with pytest.raises(TypeError, match="arrays of dtype int1 cannot be compiled"):
        library_jit(lambda x: lax.convert_element_type(x, ml_dtypes.int1))(np.ones(2, np.int32))


def test_jitted_functions_are_compiled_at_once(compilations):
    olympus_xla.jit(lambda x: lax.rev(x, (0,)))(np.zeros(3, np.float32))
    assert len(compilations) == 1


def _debugging(call):
    with config.debug_nans(True):
        call(np.ones(3, np.float32))


def _checking(call):
    with config.enable_checks(True):
        call(np.ones(3, np.float32))


def _sharded(call):
    devices = olympus_xla.devices("cpu")[:2]
    mesh = make_mesh((2,), ("x",), (AxisType.Auto,), devices=devices)
    sharding = NamedSharding(mesh, PartitionSpec("x"))
    call(olympus_xla.device_put(np.ones(4, np.float32), sharding))


@pytest.mark.parametrize("circumstance", [_debugging, _checking, _sharded])
def test_conditions_for_compilation(circumstance, compilations):
    circumstance(library_jit(lambda x: lax.neg(x)))
    assert len(compilations) == 1


# ---- the results ----


def test_results_are_like_those_of_compiled_programs(devices):
    operand = put_leaf(np.ones(3, np.float32))
    result = lax.neg(operand)
    assert type(result) is type(operand)
    assert not result.committed and result.devices() == operand.devices()
    elsewhere = olympus_xla.device_put(operand, devices[1])
    moved = lax.neg(elsewhere)
    assert moved.committed and moved.devices() == {devices[1]}
    assert lax.neg(2.0).weak_type and not lax.neg(np.float32(2.0)).weak_type
    with pytest.raises(ValueError, match="incompatible devices"):
        lax.sub(elsewhere, olympus_xla.device_put(operand, devices[2]))


def test_results_have_separate_buffers():
    numbers = np.arange(64, dtype=np.float32)
    operand = put_leaf(numbers)
    result = lax.reshape(operand, (8, 8))
    assert result.unsafe_buffer_pointer() != operand.unsafe_buffer_pointer()
    operand.delete()
    gc.collect()
    assert np.asarray(result).reshape(-1).tolist() == numbers.tolist()
    of_numpy = lax.reshape(numbers, (8, 8))
    numbers[:] = -1
    assert np.asarray(of_numpy).reshape(-1).tolist() == list(range(64))
    assert not np.asarray(of_numpy).flags.writeable


def test_objects_that_become_arrays_are_operands():
    class Holder:
        def __jax_array__(self):
            return put_leaf(np.arange(3, dtype=np.float32))

    assert np.asarray(lax.neg(Holder())).tolist() == [0, -1, -2]
    assert np.asarray(library_jit(lax.neg)(Holder())).tolist() == [0, -1, -2]


@pytest.mark.parametrize("name", ["top_k", "sort", "argmax", "argmin"])
def test_signed_zeros_are_ordered_as_compiled(name):
    params = {
        "top_k": {"k": 3, "axis": 0},
        "sort": {"dimension": 0, "is_stable": True, "num_keys": 1},
    }.get(name, {"axes": (0,), "index_dtype": np.dtype(np.int32)})
    zeros = np.array([-0.0, 0.0, 1.0, -0.0, 0.0], np.float32)
    program = eager._program(getattr(lax, f"{name}_p"), operand_avals(name, [zeros]), params)
    assert check(program, [np.abs(zeros)])
    check(program, [zeros])


def test_errors_equal_those_of_compiled_programs():
    operand = put_leaf(np.ones(7, np.float32))
    operand.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        lax.neg(operand)
