# SPDX-License-Identifier: Apache-2.0
"""Compiled calls, with programs written by hand: the C++ path, the Python path, several devices."""

import numpy as np
import pytest
from jaxlib.mlir import ir

from olympus_ir import lax
from olympus_ir.programs.make import eval_shape
from olympus_ir.settings import config
from olympus_ir.trees.pytrees import tree_structure
from olympus_ir.types.avals import ShapedArray, abstract_token
from olympus_sharding import NamedSharding
from olympus_sharding import PartitionSpec as P
from olympus_xla import _jaxlib, device_put, jit
from olympus_xla.arrays.array import ArrayImpl
from olympus_xla.arrays.layouts import layouts_in_use
from olympus_xla.calls.cpp_functions import make_cpp_function
from olympus_xla.calls.executables import Executable
from olympus_xla.compiling.compiler import compile_module
from olympus_xla.compiling.lowering import mlir
from olympus_xla.platforms.backends import device_sharding

ADD = """
module {
  func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %y : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"""

# Each device adds up all parts of the operand.
ALL_REDUCE = """
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(
      %a: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>})
      -> (tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0]
           : (tensor<8x2xf32>, tensor<f32>) -> tensor<2xf32>
    return %s : tensor<2xf32>
  }
}
"""


def parse(text):
    with mlir.context(), mlir.unknown_location():
        return ir.Module.parse(text)


VECTOR = ShapedArray((4,), np.float32)
LEAF = tree_structure(0)


@pytest.fixture
def add(devices):
    place = device_sharding(devices[0])
    return Executable(
        compile_module(parse(ADD), devices[:1]).loaded,
        in_avals=[VECTOR, VECTOR],
        in_shardings=[place, place],
        out_avals=[VECTOR],
        out_shardings=[place],
        committed=False,
    )


@pytest.fixture
def total(devices, mesh):
    return Executable(
        compile_module(parse(ALL_REDUCE), devices, partitions=4).loaded,
        in_avals=[ShapedArray((8, 2), np.float32)],
        in_shardings=[NamedSharding(mesh, P(("x", "y")))],
        out_avals=[ShapedArray((2,), np.float32)],
        out_shardings=[NamedSharding(mesh, P())],
        committed=True,
    )


def ones(count=4):
    return np.ones(count, np.float32)


def test_python_calls_return_device_arrays(add, devices):
    (result,) = add.call([device_put(ones()), ones()])
    assert type(result) is ArrayImpl
    assert result.aval is VECTOR
    assert result.tolist() == [2.0] * 4
    assert not result.committed
    (moved,) = add.call([device_put(ones(), devices[1]), ones()])
    assert moved.devices() == {devices[0]}


def counted_function(executable, **options):
    """A C++ function object over an executable of two operands, and a list of its misses."""
    misses = []

    def cache_miss(*args, **kwargs):
        misses.append((args, kwargs))
        result = executable.call(list(args[:2]))[0]
        return result, executable.fastpath(LEAF, [True, True], []), False

    return make_cpp_function("add", None, cache_miss, own_capacity=16, **options), misses


def test_cpp_path_does_not_enter_python_again(add):
    function, misses = counted_function(add)
    x = device_put(ones())
    for _ in range(3):
        assert function(x, x).tolist() == [2.0] * 4
    assert len(misses) == 1
    assert function(x, x).aval is VECTOR


def test_cpp_path_takes_host_values(add):
    function, misses = counted_function(add)
    for _ in range(3):
        assert function(ones(), ones()).tolist() == [2.0] * 4
    assert len(misses) == 1


def test_cache_key(add):
    function, misses = counted_function(add, static_argnums=[2])
    x = device_put(ones())
    function(x, x, "first")
    function(x, x, "second")
    function(x, x, "first")
    assert len(misses) == 2
    with config.enable_x64(True):
        function(x, x, "first")
    assert len(misses) == 3
    with pytest.raises(ValueError, match="hashable"):
        function(x, x, [])


def test_results_over_several_devices_are_combined(total, mesh):
    host = np.arange(16, dtype=np.float32).reshape(8, 2)
    (result,) = total.call([host])
    assert result.tolist() == [56.0, 64.0]
    assert result.sharding == NamedSharding(mesh, P())
    sharded = device_put(host, NamedSharding(mesh, P("y")))
    assert total.call([sharded])[0].tolist() == [56.0, 64.0]


def test_many_collectives_in_flight(total, mesh):
    # Without a bound on jaxlib 0.10, a collective would miss a participant and end the process.
    operand = device_put(np.ones((8, 2), np.float32), NamedSharding(mesh, P(("x", "y"))))
    results = [total.call([operand])[0] for _ in range(200)]
    assert all(result.tolist() == [8.0, 8.0] for result in results)


def test_bounded_collectives(total, add):
    bounded = total.fastpath(LEAF, [True], []) is None
    assert bounded == _jaxlib.collectives_need_bound
    assert add.fastpath(LEAF, [True, True], []) is not None


def test_compiler_options_reach_xla(devices):
    options = {"xla_cpu_enable_fast_math": True}
    assert compile_module(parse(ADD), devices[:1], compiler_options=options).loaded
    with pytest.raises(TypeError, match="compiler option 'xla_dump_to' must be"):
        compile_module(parse(ADD), devices[:1], compiler_options={"xla_dump_to": [1]})
    with pytest.raises(_jaxlib.JaxRuntimeError, match="No such compile option"):
        compile_module(parse(ADD), devices[:1], compiler_options={"xla_no_such_flag": 1})


def test_tokens_are_operands_results_and_constants():
    token = lax.create_token()
    after = jit(lambda x, given: (lax.neg(x), lax.after_all(given)))
    for _ in range(2):
        result, token = after(np.float32(2), token)
        assert result == -2 and isinstance(token, lax.tokens.Token)
    token.block_until_ready()
    assert isinstance(jit(lambda x: (x, token))(1.0)[1], lax.tokens.Token)
    assert isinstance(jit(lax.create_token)(1.0), lax.tokens.Token)
    assert eval_shape(lambda given: given, token) is abstract_token


def test_tokens_are_operands_where_layouts_are_compared(monkeypatch):
    monkeypatch.setattr(layouts_in_use, "in_use", True)
    after = jit(lambda x, given: (lax.neg(x), lax.after_all(given)))
    result, token = after(np.float32(2), lax.create_token())
    assert result == -2 and isinstance(token, lax.tokens.Token)
